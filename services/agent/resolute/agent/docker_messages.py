"""Messages of the Docker engine, rewritten for the reader of a trial's log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resolute.agent.container_spec import Container
from resolute.agent.docker_engine import State
from resolute.agent.runtime import Exit
from resolute.agent.spool import End

SIGKILL_CODE = 137
PULL_SAYS_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class StartProblem:
    """Why a task cannot start. `hopeless`: another try would fail in the same way."""

    words: str
    hopeless: bool


_IN_USE = r"(?:Bind for|listen \w+) (\S+?):? .*(?:port is already allocated|address already in use)"
_NO_DEVICE = r'error gathering device information while adding custom device "([^"]+)"'
_PORT_IN_USE = "environment.ports: {0} is in use on this agent's host"
_TROUBLES = (
    (r'exec: "python3": executable file not found', "environment.image: {image} has no python3 (3.10 or later)"),
    (r"bind source path does not exist: (\S+)", "bind_mounts: {0} does not exist on this agent's host"),
    (_IN_USE, _PORT_IN_USE),
    (_NO_DEVICE, "resources.devices: {0} cannot be used on this agent's host"),
    (
        r'could not select device driver "nvidia"',
        "this agent's Docker lacks the NVIDIA Container Toolkit, and has no GPUs",
    ),
    (r"invalid Cap(?:Add|Drop)", "environment.add_capabilities, drop_capabilities: {said}"),
)
_NO_NETWORK = "RESOLUTE_AGENT_DOCKER_NETWORK: this agent's Docker has no {what} {name}"
_STILLBORN = r"SyntaxError|No module named (?!'resolute)|has no attribute"
"""Messages of a Python that is too old for the shim, or lacks parts of the standard library."""


def port_in_use(port: str) -> StartProblem:
    return StartProblem(_PORT_IN_USE.format(port), True)


def start_problem(container: Container, said: str) -> StartProblem:
    """Why a container could not be made or started."""
    image = container.image
    for pattern, words in _TROUBLES:
        if found := re.search(pattern, said):
            return StartProblem(words.format(*found.groups(), image=image, said=said), True)
    if not container.own_network:  # the task's own network is made again at the next try
        name = container.network.removeprefix("container:")
        for what, words in (("container", f"No such container: {name}"), ("network", f"network {name} not found")):
            if words in said:
                return StartProblem(_NO_NETWORK.format(what=what, name=name), True)
    return StartProblem(f"Docker cannot start a container of {image}: {said}", False)


def shim_problem(complaints: Sequence[str]) -> StartProblem:
    """`complaints`: the lines that the shim printed when it ended before it could start the task."""
    why = complaints[-1] if complaints else "it said nothing"
    hopeless = any(re.search(_STILLBORN, line) for line in complaints)
    return StartProblem(f"the supervisor of the task ended at once in its container: {why}", hopeless)


def pull_problem(image: str, said: str) -> StartProblem:
    if _says(said, "unauthorized", "denied", "authentication required", "no basic auth", "forbidden"):
        why = f"environment.image: the registry refuses {image}; environment.registry_auth may help. It says: {said}"
        return StartProblem(why, True)
    if _says(said, "not found", "manifest unknown", "does not exist", "invalid reference"):
        return StartProblem(f"environment.image: there is no image {image}. The registry says: {said}", True)
    return StartProblem(f"environment.image: cannot pull {image}: {said}", False)


def _says(said: str, *words: str) -> bool:
    return any(word in said.lower() for word in words)


def ending(end: End | None, state: State | None, asked: bool) -> Exit:
    """How a task ended. `asked`: whether this agent had asked it to end.

    A shim that was asked to stop, though not by this agent, was stopped with its whole container: by `docker stop`, or
    because the daemon or the host went down. A shim that wrote no end record was killed together with its container.
    """
    memory = _out_of_memory(state)
    if end is None:
        if memory:
            return Exit(SIGKILL_CODE, memory)
        if state is None:
            return Exit(None, "its container was removed while it ran")
        return Exit(None, "its container was killed from outside: by a person, or with the Docker daemon or the host")
    if end.asked and not asked:
        return Exit(None, "its container was stopped from outside: by a person, or with the Docker daemon or the host")
    return Exit(end.code, memory if end.code else "")


def _out_of_memory(state: State | None) -> str:
    if state is None or not state.out_of_memory:
        return ""
    if not state.memory_bytes:
        return "out of memory: the host has no more"
    return f"out of memory: the container was allowed {in_units(state.memory_bytes)}"


def in_units(size_bytes: float) -> str:
    power = min(4, max(0, int(size_bytes).bit_length() - 1) // 10)
    return f"{size_bytes / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


@dataclass
class Progress:
    """How far the pull of an image is, for a line in the log now and then."""

    image: str
    layers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By layer: the bytes that were pulled, and the bytes in all."""
    said_at: float = float("-inf")

    def lines(self, word: Mapping[str, Any], now: float) -> Iterator[str]:
        """The lines for the log after the message `word` of the daemon, at `now` in seconds; mostly none."""
        detail, layer = word.get("progressDetail") or {}, word.get("id")
        status = str(word.get("status", ""))
        if layer and status == "Downloading" and detail.get("total"):
            self.layers[layer] = detail["current"], detail["total"]
        elif layer in self.layers and status in ("Download complete", "Pull complete"):
            self.layers[layer] = (self.layers[layer][1],) * 2
        if status.startswith(("Status:", "Digest:")):
            yield f"INFO: {status}"
        elif self.layers and now - self.said_at >= PULL_SAYS_EVERY_S:
            self.said_at = now
            here, whole = map(sum, zip(*self.layers.values(), strict=True))
            yield f"INFO: pulling {self.image}: {in_units(here)} of {in_units(whole)} of its layers"

"""The configuration of a task that is no trial: its fields, and how what was submitted is completed.

Of a template and of `task_container_defaults` everything is taken that the submitted configuration leaves open, but for
the number of slots and the pool: these are taken from the submitted configuration alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resolute.proto.queue import PRIORITY_FIRST, PRIORITY_LAST, WEIGHT_MOST

from . import bounds
from .durations import seconds
from .environment_fields import BIND_MOUNTS, DEVICES_OF_HOST, ENVIRONMENT, SHM_SIZE
from .merge import merge
from .nodes import Bool, Field, Int, ListOf, Number, Object, Text
from .problems import Problems

Config = Mapping[str, Any]

RESOURCES = Object(
    {
        "slots": Field(Int(0), 1),
        "resource_pool": Field(Text(), ""),
        "priority": Field(Int(PRIORITY_FIRST, PRIORITY_LAST)),
        "weight": Field(Number(above=0, most=WEIGHT_MOST), 1),
        "shm_size": Field(SHM_SIZE),
        "devices": Field(DEVICES_OF_HOST, []),
    },
    remedies={"slots_per_trial": "Write resources.slots.", "is_single_node": "A task is always on one agent."},
)

NOT_ENDED_IDLE = "This release ends no task because it is idle: leave it out, and kill the task when you are done."

IDLE_SHORTEST_S = 10.0
"""Use is looked for every few seconds."""
IDLE_TYPES = ("kernels_or_terminals", "kernel_connections", "activity")
"""What of Jupyter counts as use of a notebook; the first unless the configuration says another."""

TASK = Object(
    {
        "description": Field(Text(longest=bounds.NAME_CHARACTERS_MAX), ""),
        "entrypoint": Field(ListOf(Text()), []),
        "resources": Field(RESOURCES, {}),
        "environment": Field(ENVIRONMENT, {}),
        "bind_mounts": Field(BIND_MOUNTS, []),
        "work_dir": Field(Text()),
        "debug": Field(Bool(), False),
        "idle_timeout": Field(Text()),
        "notebook_idle_type": Field(Text(IDLE_TYPES)),
    },
)


@dataclass(frozen=True, slots=True)
class TaskDefaults:
    """What lies below a submitted configuration."""

    description: str
    compute_pool: str
    aux_pool: str
    """The pool of tasks without slots."""
    template: Config = field(default_factory=dict)
    task_container_defaults: Config = field(default_factory=dict)
    """Of the cluster, or of the pool that the task goes to."""


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """A configuration that has been checked. `merged` is the whole of it."""

    description: str
    entrypoint: tuple[str, ...]
    pool: str
    slots: int
    priority: int | None
    weight: float
    idle_timeout_s: float | None
    """For how long nobody may use it; None for ever."""
    merged: dict[str, Any]


def parse_task(
    raw: Config, defaults: TaskDefaults, *, has_files: bool, runs_entrypoint: bool, may_be_idle: bool = False
) -> TaskConfig:
    """Read, complete and check the configuration of a task. `has_files`: whether a context directory came with it.
    `runs_entrypoint`: whether it says what runs; other kinds ignore an entrypoint. `may_be_idle`: whether tasks of its
    kind can be ended because nobody uses them.

    Raises InvalidConfig with a line for every problem: the path, what was found, what would do.
    """
    problems = Problems()
    submitted = TASK.read(raw, "", problems)
    if has_files and submitted.get("work_dir"):
        problems.add(
            "work_dir", "cannot be together with files, which are unpacked into a directory of the task's own."
        )
    merged = _complete(submitted, defaults, problems, has_files=has_files)
    if not runs_entrypoint:
        merged["entrypoint"] = []
    elif not merged["entrypoint"]:
        problems.add("entrypoint", "missing. Write the command to run, as a list of words.")
    elif sum(map(len, merged["entrypoint"])) > bounds.TEXT_CHARACTERS_MAX:
        most = f"{bounds.TEXT_CHARACTERS_MAX:,}"
        problems.add("entrypoint", f"expected a command of at most {most} characters. Put it into a script.")
    idle_timeout_s = _idle_timeout(merged, problems, may_be_idle=may_be_idle)
    problems.raise_if_any()
    resources = merged["resources"]
    return TaskConfig(
        description=merged["description"],
        entrypoint=tuple(merged["entrypoint"]),
        pool=resources["resource_pool"],
        slots=resources["slots"],
        priority=resources["priority"],
        weight=float(resources["weight"]),
        idle_timeout_s=idle_timeout_s,
        merged=merged,
    )


def _idle_timeout(merged: Config, problems: Problems, *, may_be_idle: bool) -> float | None:
    text = merged["idle_timeout"]
    if not may_be_idle:
        for name in ("idle_timeout", "notebook_idle_type"):
            if merged[name] is not None:
                problems.add(name, "this kind of task is never ended for being idle. Leave it out.")
        return None
    if text is None:
        return None
    try:
        found = seconds(text)
    except ValueError as error:
        problems.add("idle_timeout", f"{error}.")
        return None
    if found < IDLE_SHORTEST_S:
        problems.add("idle_timeout", f"expected at least {IDLE_SHORTEST_S:g}s; found {text!r}.")
    return found


def pool_of(raw: Config, compute: str, aux: str) -> str:
    """The pool that a submitted configuration goes to, which may be wrong otherwise."""
    resources = raw.get("resources")
    stated = resources if isinstance(resources, Mapping) else {}
    return str(stated.get("resource_pool") or (aux if stated.get("slots") == 0 else compute))


def _complete(submitted: Config, defaults: TaskDefaults, problems: Problems, *, has_files: bool) -> dict[str, Any]:
    layers = (
        TASK.read(defaults.template, "template", problems),
        TASK.read(_from_container_defaults(defaults.task_container_defaults), "cluster", Problems()),
    )
    merged = dict(submitted)
    for layer in layers:
        merged = merge(merged, _without_place(layer, has_files=has_files))
    filled: dict[str, Any] = TASK.fill(merged)
    resources = filled["resources"]
    pool = resources["resource_pool"] or (defaults.aux_pool if resources["slots"] == 0 else defaults.compute_pool)
    description = filled["description"] or defaults.description
    return {**filled, "description": description, "resources": {**resources, "resource_pool": pool}}


def _without_place(layer: Config, *, has_files: bool) -> dict[str, Any]:
    """A working directory of a lower layer gives way to the files of a submission."""
    resources = {name: value for name, value in (layer.get("resources") or {}).items() if name not in _PLACE}
    kept = {name: value for name, value in layer.items() if name != "work_dir" or not has_files}
    return {**kept, "resources": resources}


_PLACE = ("slots", "resource_pool")


def _from_container_defaults(defaults: Config) -> dict[str, Any]:
    """`task_container_defaults` in the shape of a task's configuration."""
    names = ("image", "registry_auth", "force_pull_image", "environment_variables", "add_capabilities")
    return {
        "environment": {
            **{name: defaults.get(name) for name in (*names, "drop_capabilities")},
            "startup_hook": defaults.get("startup_hook") or None,
        },
        "resources": {"devices": defaults.get("devices"), "shm_size": defaults.get("shm_size_bytes")},
        "bind_mounts": defaults.get("bind_mounts"),
        "work_dir": defaults.get("work_dir") or None,
    }

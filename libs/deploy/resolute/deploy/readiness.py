"""Waits until a cluster serves, or reports which part does not come up, with the last lines of its log."""

from __future__ import annotations

import http
import http.client
import json
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from resolute.deploy import metrics, processes
from resolute.deploy.cluster import Cluster
from resolute.deploy.paths import ClusterPaths
from resolute.deploy.processes import ChildStatus
from resolute.deploy.progress import Progress
from resolute.proto.errors import Unavailable

PATIENCE_S = 60.0
FAILURES_MAX = 8
LINES, LINE_MAX = 12, 400
UNUSABLE = 2
"""The exit code of a process whose settings cannot be used: starting it again would not help."""


Marks = dict[str, int]
"""How long each log was before this start, by file name."""


def marks(paths: ClusterPaths) -> Marks:
    return {file.name: file.stat().st_size for file in paths.logs.glob("*.log")}


def wait_until_ready(
    paths: ClusterPaths, cluster: Cluster, supervisor: subprocess.Popen[bytes], before: Marks, progress: Progress
) -> None:
    """Raises Unavailable, with the last lines that the failing processes have logged since `before`."""
    deadline = time.monotonic() + PATIENCE_S
    said: set[str] = set()
    grown = ""
    while time.monotonic() < deadline:
        _check(supervisor, paths, before)
        for status in processes.statuses(paths):
            _give_up_if_hopeless(paths, status, before)
        parts, growth = _parts(cluster)
        if growth and growth != grown:  # tables of a new release grow from a long log: that may take minutes
            deadline = time.monotonic() + PATIENCE_S
            if not grown:
                progress.say(growth)
            grown = growth
        for part, up in parts.items():
            if up and part not in said:
                said.add(part)
                progress.say(f"{part} ready")
        if "gateway" in said and agents_are_known(paths, [agent.name for agent in cluster.agents]):
            if cluster.agents:
                progress.say(f"{len(cluster.agents)} agent{'s' * (len(cluster.agents) > 1)} ready")
            return
        time.sleep(0.05)
    if "gateway" in said:
        raise Unavailable(_silent(paths, [agent.name for agent in cluster.agents], before))
    why = _last_lines(paths.logs / "services.log", before)
    raise Unavailable(f"the cluster did not answer on {cluster.url} within {PATIENCE_S:g} s:\n{why}")


def wait_for_agents(paths: ClusterPaths, names: Sequence[str], before: Marks) -> None:
    """Return once the scheduler knows all of them. Raises Unavailable, with the last lines of those that fail."""
    deadline = time.monotonic() + PATIENCE_S
    while not agents_are_known(paths, names):
        for status in processes.statuses(paths):
            if status.name in names:
                _give_up_if_hopeless(paths, status, before)
        if time.monotonic() > deadline:
            raise Unavailable(_silent(paths, names, before))
        time.sleep(0.05)


def agents_are_known(paths: ClusterPaths, names: Sequence[str]) -> bool:
    """Whether the scheduler knows the processes that run as these agents now, and not only earlier ones."""
    pids = {status.name: status.pid for status in processes.statuses(paths)}
    return all(_known_as(paths, name) == pids.get(name, 0) for name in names)


def _known_as(paths: ClusterPaths, name: str) -> int | None:
    """The process of the agent that last sent a hello to the scheduler."""
    try:
        return int((paths.agent(name) / "agent.lock").read_text() or 0)
    except (OSError, ValueError):
        return None


def _silent(paths: ClusterPaths, names: Sequence[str], before: Marks) -> str:
    missing = [name for name in names if not agents_are_known(paths, [name])]
    why = "\n".join(_last_lines(paths.logs / f"{name}.log", before) for name in missing)
    return f"the scheduler has not heard of {', '.join(missing)} within {PATIENCE_S:g} s:\n{why}"


def wait_until_started(paths: ClusterPaths, supervisor: subprocess.Popen[bytes], before: Marks) -> None:
    """Return once the supervisor has read its plan and started it."""
    deadline = time.monotonic() + PATIENCE_S
    while not processes.statuses(paths):
        _check(supervisor, paths, before)
        if time.monotonic() > deadline:
            raise Unavailable(f"the supervisor started nothing within {PATIENCE_S:g} s")
        time.sleep(0.02)


def _check(supervisor: subprocess.Popen[bytes], paths: ClusterPaths, before: Marks) -> None:
    if supervisor.poll() is not None:
        raise Unavailable(f"the supervisor has ended:\n{_last_lines(paths.logs / 'supervisor.log', before)}")


def _parts(cluster: Cluster) -> tuple[dict[str, bool], str]:
    """Which parts serve, in the order they come up; and how far the gateway's tables have grown, while they grow."""
    if cluster.separate:
        status, page = get(cluster.url, "/api/v1/master")
        return {"gateway": status == http.HTTPStatus.OK}, _growth(page)
    _, page = get(f"http://{metrics.address(cluster, 'services', here=True)}", "/ready")
    names = {"log": "database", "bus": "bus", "services": "gateway"}
    return {shown: bool(page.get(name)) for name, shown in names.items()}, ", ".join(
        f"{name}: {text}" for name, text in dict(page.get("progress") or {}).items()
    )


def _growth(page: dict[str, Any]) -> str:
    """How far a gateway is whose tables are still growing, and which therefore answers no requests yet."""
    error = page.get("error")
    message = str(error.get("error", "")) if isinstance(error, dict) else ""
    return message if "growing" in message else ""


def _connection(url: str) -> http.client.HTTPConnection:
    """Nothing secret is asked for: whether something answers is all that counts, whatever its certificate is for."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.netloc, timeout=5, context=ssl._create_unverified_context())
    return http.client.HTTPConnection(parts.netloc, timeout=5)


def get(url: str, path: str) -> tuple[int, dict[str, Any]]:
    """Status and document of an answer; 0 where there is none."""
    connection = _connection(url)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        page = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}
    finally:
        connection.close()
    return response.status, page if isinstance(page, dict) else {}


def _give_up_if_hopeless(paths: ClusterPaths, status: ChildStatus, before: Marks) -> None:
    hopeless = status.exit_code == UNUSABLE and status.name != "nats"
    if hopeless or status.failures >= FAILURES_MAX:
        raise Unavailable(
            f"{status.name} does not start (exit code {status.exit_code}):\n"
            + _last_lines(paths.logs / f"{status.name}.log", before)
        )


def _last_lines(file: Path, before: Marks) -> str:
    try:
        lines = file.read_bytes()[before.get(file.name, 0) :].decode(errors="replace").splitlines()
    except OSError as error:
        return f"  ({file}: {error.strerror})"
    shown = [f"  {line[:LINE_MAX]}" for line in lines[-LINES:]]
    return "\n".join([*shown, f"  (all of it: {file})"])

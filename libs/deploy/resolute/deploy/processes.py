"""The processes of an embedded cluster: whether its supervisor runs, what it reports, and ending left-over
processes."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from resolute.agent import task_files
from resolute.agent.inherited_variables import inheritable
from resolute.agent.runtime import STOPPED
from resolute.deploy.paths import ClusterPaths, write_private

CLUSTER_VARIABLES = ("DET_CLUSTER_ID", "RESOLUTE_AGENT_CLUSTER_ID")
AGENT_VARIABLES = ("DET_AGENT_ID", "RESOLUTE_AGENT_ID")
"""In the environment of an agent, or of everything it starts."""


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """The supervisor's last report about one child process."""

    name: str
    pid: int | None
    argv: tuple[str, ...]
    stop_signal: int
    starts: int
    failures: int
    exit_code: int | None


def supervisor_pid(paths: ClusterPaths) -> int | None:
    """Of the supervisor that holds this cluster; the lock, unlike a pid file, cannot be left behind."""
    try:
        with paths.lock.open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read() or 0) or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None


def statuses(paths: ClusterPaths) -> list[ChildStatus]:
    try:
        children = json.loads(paths.status.read_text())["children"]
    except (OSError, ValueError, KeyError):
        return []
    return [ChildStatus(name=name, **{**child, "argv": tuple(child["argv"])}) for name, child in children.items()]


def start_supervisor(paths: ClusterPaths, plan: str) -> subprocess.Popen[bytes]:
    """Detached: it outlives this process and its terminal. It has next to no environment: whatever a person's shell
    holds could be read there for as long as the cluster runs."""
    write_private(paths.plan, plan)
    argv = [sys.executable, "-m", "resolute.deploy.supervisor", *map(str, (paths.plan, paths.status, paths.lock))]
    with (paths.logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            argv, env=inheritable(os.environ), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, cwd="/",
        )  # fmt: skip


def stop_supervisor(paths: ClusterPaths, within_s: float = 60.0) -> bool:
    """Ask it to stop everything, and wait until it has; False when there was none."""
    pid = supervisor_pid(paths)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + within_s
    while supervisor_pid(paths) is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    return True


def stop_leftovers(paths: ClusterPaths) -> list[str]:
    """End children whose supervisor was killed; answers their names."""
    left = [(status, process) for status in statuses(paths) if (process := _alive(status)) is not None]
    for status, process in reversed(left):  # one after another: who leaves the database needs it to say goodbye
        _signal(process, status.stop_signal)
        _wait_or_kill([process])
    paths.status.unlink(missing_ok=True)
    return [status.name for status, _ in left]


def note_planned_end(paths: ClusterPaths, agents: frozenset[str] | None = None) -> None:
    """Note beside every task of these agents, or of all, that its end is planned. The next agent then says so in the
    task's log instead of reporting an end without a known cause."""
    named = [paths.agent(name) for name in agents] if agents is not None else (paths.root / "agents").glob("*")
    for work_dir in (*named, *(paths.instances.glob("*/*") if agents is None else ())):
        for folder in work_dir.glob("tasks/*"):
            with suppress(OSError):
                task_files.open_to_write(folder / STOPPED).close()


def stop_tasks(cluster_id: str, agents: frozenset[str] | None = None) -> int:
    """End every process that runs for the cluster's agents (these, or all of them): trials, and what they started.

    Those beside the tasks, who write down how a task ended, go first: to the cluster it is then as if the host had
    gone, and trials go on from their last checkpoint without a restart being held against them. Answers how many.
    """
    found = [process for process in psutil.process_iter() if _runs_for(process, cluster_id, agents)]
    found.sort(key=_writes_down_the_end, reverse=True)
    for process in found:
        _signal(process, signal.SIGKILL if _writes_down_the_end(process) else signal.SIGTERM)
    _wait_or_kill(found)
    return len(found)


def _alive(status: ChildStatus) -> psutil.Process | None:
    """The very process, and not another that has its number by now."""
    if status.pid is None:
        return None
    try:
        process = psutil.Process(status.pid)
        same = tuple(process.cmdline()) == status.argv and lives(process)
    except psutil.Error:
        return None
    return process if same else None


def _runs_for(process: psutil.Process, cluster_id: str, agents: frozenset[str] | None) -> bool:
    try:
        env = process.environ()
    except (psutil.Error, OSError):
        return False
    here = any(env.get(name) == cluster_id for name in CLUSTER_VARIABLES)
    return here and process.pid != os.getpid() and (agents is None or not agents.isdisjoint(_agents_in(env)))


def _writes_down_the_end(process: psutil.Process) -> bool:
    try:
        return any(word.endswith("/resolute/agent/shim.py") for word in process.cmdline())
    except psutil.Error:
        return False


def _agents_in(env: Mapping[str, str]) -> set[str]:
    return {env[name] for name in AGENT_VARIABLES if name in env}


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _wait_or_kill(processes: Iterable[psutil.Process], within_s: float = 5.0) -> None:
    living = list(processes)
    for last_chance in (False, True):
        deadline = time.monotonic() + within_s
        while (living := [process for process in living if lives(process)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in () if last_chance else living:
            _signal(process, signal.SIGKILL)


def lives(process: psutil.Process) -> bool:
    """An orphan that has ended may stay in the process table until its new parent process reaps it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

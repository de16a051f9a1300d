"""How far tasks that run as processes are kept from the cluster and from each other, decided as the agent starts.

| level | the agent is | tasks |
|---|---|---|
| `users` | root | run as a user of their own for each owner: they read and end only what is their owner's |
| `hidden` | another user, with user namespaces | do not see the cluster's secrets and database; they see each other |
| `none` | neither, or it is turned off | can do whatever the agent's user can |

Every level is tested before it is used: a program is started as a task would be, and has to reach the paths that tasks
need.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from resolute.agent import accounts, mount_namespace
from resolute.agent.environment import harness_directory
from resolute.agent.inherited_variables import inheritable
from resolute.agent.process_settings import ProcessSettings

Level = Literal["users", "hidden", "none"]
NOTE = "isolation"
"""A file in the agent's work directory with the level and a sentence about it, for the command that starts a
cluster."""

PROBE_UID = accounts.FIRST_UID - 1
PROBE_S = 30.0
_PROBE = """
import os, sys
import determined.exec.prep
os.chdir(sys.argv[1])
for path in sys.argv[2:]:
    if not os.access(path, os.W_OK | os.X_OK):
        sys.exit(f"{path} is not writable for every user (chmod 1777 makes it so)")
"""


@dataclass(frozen=True, slots=True)
class Isolation:
    level: Level = "none"
    why: str = ""
    """Why a higher level is not possible."""

    @property
    def sentence(self) -> str:
        match self.level:
            case "users":
                return "each owner's trials run as a user of their own"
            case "hidden":
                return (
                    "trials of all owners run as this user: the cluster's secrets and database are hidden from them, "
                    "but they can read and end each other (run the cluster as root, or trials in containers, where "
                    "people do not trust each other)"
                )
        return (
            "trials are not kept apart: they can read whatever this user can, the cluster's secrets included, and each "
            f"other ({self.why})"
        )


NOT_ISOLATED = Isolation("none", "nothing was tried")


def establish(settings: ProcessSettings) -> Isolation:
    """Find the highest level that is possible here, and change this process to that level. This process must have one
    thread."""
    if not settings.isolation:
        return Isolation("none", "RESOLUTE_AGENT_ISOLATION is false")
    return _as_root(settings) if os.geteuid() == 0 else _hidden(settings)


def _as_root(settings: ProcessSettings) -> Isolation:
    try:
        _open_way(settings.work_dir.absolute())
    except OSError as error:
        return Isolation("none", str(error))
    needed = _needed(settings)
    covered = mount_namespace.closed(needed)

    def confine() -> None:
        if covered:
            mount_namespace.enter(covered, needed)

    def become_a_task() -> None:
        confine()
        os.setgroups([])
        os.setgid(PROBE_UID)
        os.setuid(PROBE_UID)

    if problem := _tried(settings, become_a_task):
        return Isolation("none", problem)
    confine()
    return Isolation("users")


def _hidden(settings: ProcessSettings) -> Isolation:
    covered = mount_namespace.outermost(str(path) for path in settings.hidden_paths if path.exists())
    if not covered:
        return Isolation("none", "the agent is not root, and RESOLUTE_AGENT_HIDDEN_PATHS names nothing to hide")
    needed = [path for path in _needed(settings) if path not in covered]
    if problem := _tried(settings, lambda: mount_namespace.enter(covered, needed)):
        return Isolation("none", problem)
    mount_namespace.enter(covered, needed)
    return Isolation("hidden")


def _open_way(work_dir: Path) -> None:
    """Lets other users pass through the work directory to their own directories, without listing names."""
    for folder in (work_dir, work_dir / "tasks", work_dir / "homes", work_dir / "warm"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711)


def _needed(settings: ProcessSettings) -> list[str]:
    """The paths of this host that tasks use, and those that the agent itself has yet to read."""
    import resolute

    python = settings.python
    programs = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, harness_directory()]
    interpreters = [
        os.path.dirname(os.path.dirname(path)) for path in (python, os.path.realpath(python), sys.executable)
    ]
    own = [path for path in sys.path if path and os.path.exists(path)]
    further = [str(path) for path in (settings.work_dir.absolute(), *settings.visible_paths)]
    certificate = [str(settings.master_cert_file)] if settings.master_cert_file else []
    return [*programs, *interpreters, *own, *resolute.__path__, *further, *certificate]


def _tried(settings: ProcessSettings, prepare: Callable[[], None]) -> str:
    """The problem that a task would have after `prepare`; empty for none. Tried in a child process, because `prepare`
    cannot be undone."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        problem = _attempt(settings, prepare)
        os.write(write, problem.encode()[:4096])
        os._exit(0)
    os.close(write)
    with open(read, "rb") as report:
        problem = report.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return problem or ("" if status == 0 else "the attempt failed")


def _attempt(settings: ProcessSettings, prepare: Callable[[], None]) -> str:
    try:
        prepare()
        done = subprocess.run(
            [settings.python, "-c", _PROBE, str(settings.work_dir.absolute()), *map(str, settings.visible_paths)],
            env={**inheritable(os.environ), "PYTHONPATH": harness_directory(), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/", capture_output=True, text=True, timeout=PROBE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (said[-1] if said else f"exit code {done.returncode}")

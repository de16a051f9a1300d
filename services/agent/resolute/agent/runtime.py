"""The interface of all runtimes, which run tasks. `registry.py` has the registry of runtimes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from resolute.proto.errors import ResoluteError


class CannotStart(ResoluteError):
    """The task never ran; the message says why. `hopeless`: another try would fail in the same way."""

    code = "cannot_start"

    def __init__(self, message: str, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run. `environment` is the whole environment: no variable of the agent is added. A runtime that needs more
    about a task derives a class from this one, and makes the launch itself from the order."""

    resources_id: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Texts by their names, which are in the task's folder before it starts."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a task's output as it was printed, without its newline."""

    at: datetime
    stdtype: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    lines: tuple[Line, ...]
    mark: int
    """Where to read on. 0 is the beginning; other values have a meaning for the runtime only."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a task ended: its exit code, as in shells 128 + n for a signal n; None where it cannot be known."""

    code: int | None
    reason: str = ""
    hopeless: bool = False
    """Whether starting it again would end the same way, whatever its code is."""
    lost: str = ""
    """What its log should say of lines that were lost, where the log itself could not be written any more."""


STOPPED = "stopped"
"""A file in a task's folder, written by the command that ends the cluster's tasks: the end was planned."""
WITH_ITS_CLUSTER = "its cluster or its agent was taken down"


class TaskRuntime(Protocol):
    """Tasks outlive the agent: one that runs goes on when the agent dies, and is found again by `attach`."""

    def folder(self, resources_id: str) -> str:
        """A directory of this task's own, as the task sees it; it is there once the task has started."""
        ...

    async def start(self, launch: Launch) -> None:
        """Returns when the task runs. Raises CannotStart. At most once for each resources_id."""
        ...

    async def attach(self, resources_id: str) -> bool:
        """Find a task that an earlier agent started; alive or ended. False where there never was one."""
        ...

    async def address(self, resources_id: str) -> str:
        """Where its peers reach a task that runs; empty where that is the host's own address."""
        ...

    async def signal(self, resources_id: str, number: int) -> None:
        """SIGTERM asks the task to end; all its processes are killed when its time for that is up, also if the agent
        ends meanwhile. SIGKILL kills all its processes now. Other signals are passed on. Has no effect on a task that
        ended."""
        ...

    async def exit(self, resources_id: str) -> Exit:
        """Wait for its end: nothing of it runs any more, and all of its output can be read."""
        ...

    async def logs(self, resources_id: str, mark: int, limit: int) -> Chunk:
        """Up to `limit` whole lines from `mark` on; an empty chunk when there are none yet."""
        ...

    async def forget(self, resources_id: str) -> None:
        """Remove what is kept of a task that has ended."""
        ...

    async def tidy(self, owned: Collection[str]) -> None:
        """Ends and removes every task of this agent that is not `owned`, which would otherwise run for ever.

        `owned` may change meanwhile: a task has to be in it before it is started, and is then left alone.
        """
        ...

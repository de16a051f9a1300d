"""The interface of a runtime, which runs tasks: as processes, or in containers. `registry.py` lists the runtimes."""

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
    """The texts of files that are in the task's folder before it starts, by file name."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a task's output as it was printed, without its newline."""

    at: datetime
    stdtype: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a task's output."""

    lines: tuple[Line, ...]
    mark: int
    """The position after these lines. 0 is the beginning; other values mean something to the runtime only."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a task ended. `code`: its exit code, 128 + n for a signal n as in shells; None when it is not known."""

    code: int | None
    reason: str = ""
    hopeless: bool = False
    """Whether the task would end in the same way if it were started again."""
    lost: str = ""
    """A line for the task's log about lines that were lost, when the disk was too full to write it there."""


STOPPED = "stopped"
"""A file in a task's folder. The command that takes a cluster down writes it before it ends the task."""
WITH_ITS_CLUSTER = "its cluster or its agent was taken down"


class TaskRuntime(Protocol):
    """Starts tasks, and reads their output and exit codes. A task goes on when the agent dies; the next agent finds it
    by `attach`. Methods wait out outages of what the runtime needs, such as the Docker daemon."""

    def folder(self, resources_id: str) -> str:
        """A directory of this task's own, as the task sees it; it is there once the task has started."""
        ...

    async def start(self, launch: Launch) -> None:
        """Returns when the task runs. Raises CannotStart, also for a resources id that was started before."""
        ...

    async def attach(self, resources_id: str) -> bool:
        """Find a task that an earlier agent started, whether it runs or has ended. False when it was never started."""
        ...

    async def address(self, resources_id: str) -> str:
        """The address at which other tasks reach this one; empty for the host's own address."""
        ...

    async def signal(self, resources_id: str, number: int) -> None:
        """SIGTERM asks the task to end; all its processes are killed when its time for that is up, also if the agent
        ends meanwhile. SIGKILL kills all its processes now. Other signals are passed on. Has no effect on a task that
        ended."""
        ...

    async def exit(self, resources_id: str) -> Exit:
        """Waits for the end of the task: no process of it runs any more, and all of its output can be read."""
        ...

    async def logs(self, resources_id: str, mark: int, limit: int) -> Chunk:
        """Up to `limit` complete lines from `mark` on; an empty chunk when there are none yet."""
        ...

    async def forget(self, resources_id: str) -> None:
        """Remove the files, and the container, of a task that has ended."""
        ...

    async def tidy(self, owned: Collection[str]) -> None:
        """Ends and removes every task of this agent that is not `owned`, which would otherwise run for ever.

        `owned` may change meanwhile: a task has to be in it before it is started, and is then left alone.
        """
        ...

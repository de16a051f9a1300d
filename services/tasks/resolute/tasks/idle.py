"""Which tasks nobody has used for as long as their configuration allows: plain functions over what was heard.

Use is what gateways report of requests to a task, and what a notebook reports of its kernels. It is kept in memory
alone. After a restart of this service every clock begins anew: a task may live longer than it said, and never shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

NOTICE_MOST_S = 300.0
"""How long before its end a task is given notice: this, or half of the time that it may be idle, if that is less."""


@dataclass(slots=True)
class Watched:
    allocation_id: str
    timeout_s: float
    used_at: float
    noticed: bool = False
    """Whether its log says that it is about to end."""


@dataclass(frozen=True, slots=True)
class Notice:
    task_id: str
    allocation_id: str
    idle_s: float
    left_s: float
    """How long it has until its end, if nobody uses it."""


@dataclass(frozen=True, slots=True)
class Over:
    task_id: str
    timeout_s: float


@dataclass(slots=True)
class IdleWatch:
    """The tasks that are ready, and may be idle for a limited time. `now`: seconds on a clock that never goes back."""

    _tasks: dict[str, Watched] = field(default_factory=dict)

    def begin(self, task_id: str, allocation_id: str, timeout_s: float, now: float) -> None:
        self._tasks.setdefault(task_id, Watched(allocation_id, timeout_s, now))

    def end(self, task_id: str) -> None:
        self._tasks.pop(task_id, None)

    def used(self, task_id: str, now: float) -> None:
        if (task := self._tasks.get(task_id)) is not None:
            task.used_at, task.noticed = now, False

    def due(self, now: float) -> Iterator[Notice | Over]:
        """What is to be said or done now. A notice is given once for a time of idleness; an end until it is heard."""
        for task_id, task in list(self._tasks.items()):
            idle_s = now - task.used_at
            left_s = task.timeout_s - idle_s
            if left_s <= 0:
                yield Over(task_id, task.timeout_s)
            elif not task.noticed and left_s <= min(NOTICE_MOST_S, task.timeout_s / 2):
                task.noticed = True
                yield Notice(task_id, task.allocation_id, idle_s, left_s)


def span(seconds: float) -> str:
    """As people write it: `1h30m`, `5m0s`, `30s`."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours}h{minutes}m{whole % 60}s"
    return f"{minutes}m{whole % 60}s" if minutes else f"{whole}s"

"""Follows the log, and writes what it says of a task's life into the task's own log (`lifecycle_lines.py`).

Every gateway does so. A line is numbered by the event it comes from, so that it is stored once, however many gateways
handle the event, and however often.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

import structlog

from resolute.api import lifecycle_lines
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.lifecycle_lines import Host, OfAllocation, OfTrial, Task, name_of
from resolute.api.logs.lifecycle_queries import LifecycleQueries
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable
from resolute.proto.experiment import TrialCreated
from resolute.proto.message import Recorded
from resolute.proto.pool import AgentJoined, AllocationRequested, LogLine, SlotsAssigned

log_ = structlog.get_logger()

NAME = "api-lifecycle-lines"

REMEMBERED = 10_000

SAVE_EVERY_S = 1.0

PAUSE_S = 0.02
"""After lines were stored, so that those of many short tasks share a transaction. It is shorter than a task needs to
start: the lines on its start stand before its output."""

Store = Callable[[Sequence[LogLine]], Awaitable[None]]

Key = TypeVar("Key")


class Recent(OrderedDict[Key, Task], Generic[Key]):
    """The tasks that were written of last: others are looked up again."""

    def keep(self, key: Key, task: Task) -> None:
        self[key] = task
        while len(self) > REMEMBERED:
            self.popitem(last=False)


class LifecycleLines:
    """A `Consumer` of the log."""

    def __init__(self, log: EventLog, read: ReadModel, queries: LifecycleQueries, store: Store) -> None:
        self._log, self._read, self._queries, self._store = log, read, queries, store
        self._allocations: Recent[str] = Recent()
        self._trials: Recent[int] = Recent()
        self._hosts: dict[str, Host] = {}
        self._written: int | None = None
        """Up to where the lines are stored; None while nothing follows."""
        self._advanced = asyncio.Event()
        self._stored = False
        """Whether a line was stored since the last pause."""
        self._saved: int | None = None
        self._saved_at_s = -SAVE_EVERY_S

    async def position(self) -> int:
        """A cluster that had a release without these lines goes on without those of the past: they would stand after
        everything that the tasks have printed since."""
        position = await self._log.load_position(NAME)
        if position == 0:  # never saved, or saved before there was any event
            position = await self._log.head() if self._written is None else self._written
            await self._log.save_position(NAME, position)
        self._hosts = await self._all_hosts()
        self._advance(position)
        return position

    async def reached(self, position: int, limit_s: float) -> None:
        """Wait until the lines of all events up to `position` are stored, or `limit_s` passes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._written is not None and self._written < position:
                    await self._advanced.wait()

    async def handle(self, batch: Sequence[Recorded]) -> None:
        await self._handled(batch)
        self._advance(batch[-1].position)
        if asyncio.get_running_loop().time() - self._saved_at_s >= SAVE_EVERY_S:
            await self._save()
        if self._stored:
            self._stored = False
            await asyncio.sleep(PAUSE_S)

    async def again(self) -> None:
        """All is quiet. What a person asked for once more is written behind what was written since."""
        await self._save()
        for position in await self._log.asked_again(NAME):
            if await self._handled(await self._log.read_all(position - 1, 1)):
                await self._log.settle(NAME, position)

    async def _handled(self, batch: Sequence[Recorded]) -> bool:
        """Write the lines of `batch`, and answer whether this worked for all its events. An event that no line can be
        made of is set aside for a person to read, and the lines of the others are written."""
        try:
            await self._write(batch)
        except Unavailable:
            raise
        except Exception as error:
            if len(batch) > 1:
                return all([await self._handled([recorded]) for recorded in batch])
            log_.exception("an event that a task's log cannot tell", event_id=batch[0].id)
            await self._log.set_aside(NAME, batch[0].position, repr(error))
            return False
        return True

    async def _write(self, batch: Sequence[Recorded]) -> None:
        await self._look_up(batch)
        lines = [line for recorded in batch for line in self._lines(recorded)]
        if lines:
            await self._store(lines)
            self._stored = True

    def _advance(self, position: int) -> None:
        self._written = position
        self._advanced.set()
        self._advanced = asyncio.Event()

    async def _save(self) -> None:
        """A place that is not saved costs a repetition, and no line is stored twice."""
        if self._written is not None and self._written != self._saved:
            await self._log.save_position(NAME, self._written)
            self._saved, self._saved_at_s = self._written, asyncio.get_running_loop().time()

    # ------------------------------------------------------------ what is known of tasks

    def _lines(self, recorded: Recorded) -> list[LogLine]:
        """Of a trial that was deleted meanwhile nothing is known, and nothing is written."""
        self._note(recorded)
        task = self._task_of(recorded)
        return lifecycle_lines.lines_of(recorded, task, self._hosts) if task is not None else []

    def _note(self, recorded: Recorded) -> None:
        match recorded.event:
            case AgentJoined() as joined:
                self._hosts[joined.agent_id] = lifecycle_lines.host_of(joined)
            case TrialCreated() as created:
                experiment_id = int(recorded.key)
                self._trials.keep(created.trial_id, lifecycle_lines.created(created, experiment_id))
            case AllocationRequested() as requested:
                self._remember(requested.trial_id, lifecycle_lines.requested(requested))
            case SlotsAssigned(allocation_id=allocation_id) as assigned if allocation_id in self._allocations:
                self._allocations.keep(
                    allocation_id, lifecycle_lines.placed(self._allocations[allocation_id], assigned)
                )

    def _remember(self, trial_id: int | None, task: Task) -> None:
        self._allocations.keep(task.allocation_id, task)
        if trial_id is not None:
            self._trials.keep(trial_id, task)

    def _task_of(self, recorded: Recorded) -> Task | None:
        event = recorded.event
        if isinstance(event, OfAllocation):
            return self._allocations.get(event.allocation_id)
        return self._trials.get(event.trial_id) if isinstance(event, OfTrial) else None

    async def _look_up(self, batch: Sequence[Recorded]) -> None:
        """What the batch needs and does not bring along: after a restart, or when it was forgotten."""
        events = [recorded.event for recorded in batch]
        brought = {event.allocation_id for event in events if isinstance(event, AllocationRequested)}
        allocations = {event.allocation_id for event in events if isinstance(event, OfAllocation)}
        created = {event.trial_id for event in events if isinstance(event, TrialCreated)}
        trials = {event.trial_id for event in events if isinstance(event, OfTrial)}
        missing = allocations - brought - self._allocations.keys(), trials - created - self._trials.keys()
        if any(missing):
            await self._read.catch_up()
            await self._find_allocations(missing[0])
            await self._find_trials(missing[1])

    async def _find_allocations(self, missing: Iterable[str]) -> None:
        for row in await self._queries.allocations(set(missing)):
            task = Task(row.task_id, row.name, row.allocation_id, row.placements)
            self._allocations.keep(row.allocation_id, task)

    async def _find_trials(self, missing: Iterable[int]) -> None:
        for row in await self._queries.trials(set(missing)):
            self._trials.keep(row.id, Task(row.task_id, name_of(row.id, row.experiment_id), row.allocation_id))

    async def _all_hosts(self) -> dict[str, Host]:
        return {row.agent_id: Host(row.host, row.gpus) for row in await self._queries.hosts()}

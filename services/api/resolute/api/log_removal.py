"""Removes the logs of trials that were kept for as long as was asked for, and what deleted experiments leave behind.

Away from all that waits: a few thousand rows at a time, with a rest after each step. The log of events says what was
removed, and why, once all of a trial's lines are gone; a gateway that dies before that leaves a note, and another, or
the next, goes on from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial

import structlog

from resolute.api.logs.queries import LogQueries
from resolute.api.measures.logs import LogStore
from resolute.api.measures.removals import STEP_ROWS, Begun, Due, Removals
from resolute.bus import Bus
from resolute.config.retention import RetentionPolicy, schedule
from resolute.proto.errors import Failed, ResoluteError, Unavailable
from resolute.proto.experiment import RecordLogRemoved
from resolute.proto.message import Cause

log_ = structlog.get_logger()

ACTOR = "log retention"

LOOK_EVERY_S = 30.0
"""Between looks at the clock, and at removals that another gateway may have left unfinished."""

PAGE = 500
"""Trials that are looked up at a time."""

REST_S = 0.05
"""After each step: what removes takes no more than some of the database's time."""


class LogRemoval:
    def __init__(
        self,
        removals: Removals,
        logs: LogStore,
        queries: LogQueries,
        bus: Bus,
        policy: RetentionPolicy,
        now: Callable[[], datetime],
    ) -> None:
        self._removals, self._logs, self._queries, self._bus, self._now = removals, logs, queries, bus, now
        self._default_days = policy.log_retention_days
        self._schedule = schedule(policy.schedule)
        self._due_at = self._schedule.next_after(now())
        self._asked = asyncio.Event()

    @property
    def default_days(self) -> int:
        """For how long the log of a trial is kept whose experiment does not say."""
        return self._default_days

    async def keep_to_schedule(self) -> None:
        """Remove what is due, when it is due, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._asked.wait()
            self._asked.clear()
            try:
                await self.look()
            except Unavailable as error:
                log_.info("removing logs waits", why=error.message)
            except Exception:
                log_.exception("removing logs failed; it is tried again")

    async def look(self) -> None:
        """What there is to do now: what deleted experiments left, and, when its time has come, what has expired."""
        await self._purge()
        if self._due_at is not None and self._now() >= self._due_at:
            removed = await self.remove_expired(ACTOR)
            self._due_at = self._schedule.next_after(self._now())
            log_.info("logs that were kept for long enough are removed", lines=removed)

    async def forget(self, experiment_id: int, trials: dict[int, str]) -> None:
        """Remove, soon, all that the trials of a deleted experiment printed and reported; tasks by trial."""
        await self._removals.enqueue(experiment_id, trials)
        self._asked.set()

    async def remove_expired(self, actor: str) -> int:
        """Remove the logs that have been kept for long enough; answers how many lines that is."""
        lines = 0
        async for due in self._expired():
            newest_id = await self._logs.newest(due.task_id)
            lines += await _steps(partial(self._removals.step, due, newest_id))
        await self._record(actor)
        return lines

    async def _expired(self) -> AsyncIterator[Due]:
        beyond = 0
        while rows := await self._queries.expired(beyond, self._default_days, self._now(), PAGE):
            holding = await self._logs.holding([row.task_id for row in rows])
            for row in rows:
                if row.task_id in holding:
                    yield Due(row.trial_id, row.task_id, row.experiment_id, row.days)
            beyond = rows[-1].trial_id

    async def _record(self, actor: str) -> None:
        for begun in await self._removals.begun(deleted=False):
            await self._tell(begun, actor)
            await self._removals.done(begun)

    async def _tell(self, begun: Begun, actor: str) -> None:
        """Ask the searcher to record it. Raises Unavailable while no searcher answers: the note stays, and is recorded
        later."""
        due = begun.due
        assert due.days is not None, "a log that expired was kept for some days"
        command = RecordLogRemoved(due.experiment_id, due.trial_id, begun.lines, due.days)
        try:
            await self._bus.request(command, Cause(f"log-removal-{begun.removal_id}", actor=actor))
        except (Unavailable, Failed):
            raise
        except ResoluteError as error:  # an answer: its experiment was deleted meanwhile
            log_.info("a removed log is not recorded", trial_id=due.trial_id, why=error.message)

    async def _purge(self) -> None:
        """Remove what deleted experiments left. It is not recorded: their streams have ended."""
        for begun in await self._removals.begun(deleted=True):
            newest_id = await self._logs.newest(begun.due.task_id)
            await _steps(partial(self._removals.step, begun.due, newest_id))
            await _steps(partial(self._removals.metrics_step, begun.due))
            await self._removals.done(begun)


async def _steps(step: Callable[[], Awaitable[int]]) -> int:
    """Take `step` until it finds less than it could remove; answers how many rows all of them removed."""
    rows = 0
    while True:
        removed = await step()
        rows += removed
        if removed < STEP_ROWS:
            return rows
        await asyncio.sleep(REST_S)

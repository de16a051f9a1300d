"""Finds trials outside of the cluster whose heartbeats stay away, and reports them to the searcher, which ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from resolute.api.measures.heartbeats import Heartbeats
from resolute.api.trials.queries import OutsideRow, TrialQueries
from resolute.bus import Bus
from resolute.proto.errors import ResoluteError, Unavailable
from resolute.proto.experiment import ReportTrialSilent
from resolute.proto.message import Cause

log_ = structlog.get_logger()

ACTOR = "heartbeats"

LIMIT_S = 300.0
"""Clients send a heartbeat each minute."""

LOOK_EVERY_S = 10.0

PAGE = 500
"""Trials that are looked up at a time."""


class SilenceWatch:
    """A gateway that just started gives every process the whole limit: while no gateway answered, none could report."""

    def __init__(
        self,
        heartbeats: Heartbeats,
        queries: Callable[[], TrialQueries],
        bus: Bus,
        now: Callable[[], datetime],
        limit_s: float = LIMIT_S,
    ) -> None:
        self._heartbeats, self._queries, self._bus, self._now = heartbeats, queries, bus, now
        self._limit_s = limit_s
        self._since = now()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.look()
            except Unavailable as error:
                log_.info("looking for silent trials waits", why=error.message)
            except Exception:
                log_.exception("looking for silent trials failed; it is tried again")

    async def look(self) -> None:
        """Report each trial that has been silent for longer than the limit."""
        beyond = 0
        while rows := await self._queries().running_outside(beyond, PAGE):
            latest = await self._heartbeats.latest([row.trial_id for row in rows])
            for row in rows:
                await self._judge(row, max(latest.get(row.trial_id, row.started_at), row.started_at))
            beyond = rows[-1].trial_id

    async def _judge(self, row: OutsideRow, heard_at: datetime) -> None:
        if self._now() - max(heard_at, self._since) <= timedelta(seconds=self._limit_s):
            return
        report = ReportTrialSilent(row.experiment_id, row.trial_id, row.run_id, heard_at, self._limit_s)
        try:
            await self._bus.request(report, Cause(f"silent-{row.trial_id}-{row.run_id}", actor=ACTOR))
        except Unavailable:
            raise
        except ResoluteError as error:
            log_.warning("a silent trial could not be ended", trial_id=row.trial_id, why=error.message)

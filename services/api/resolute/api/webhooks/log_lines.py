"""Lines that tasks print, and the triggers of webhooks that wait for such lines.

A line that matches is reported to the directory before the lines are acknowledged, as with log policies, so that no
match is lost. The directory counts the first report for each task and trigger.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.log_policies import Policy, Watched, by_run
from resolute.api.webhooks.queries import TriggerRow, WebhookQueries
from resolute.bus import Bus
from resolute.proto.errors import Failed, ResoluteError, Unavailable
from resolute.proto.message import Cause
from resolute.proto.pool import LogLine
from resolute.proto.webhooks import LINE_CHARS_MAX, ReportTaskLogMatch

log_ = structlog.get_logger()

REMEMBERED = 10_000

TOGETHER = 10
"""Patterns that are looked for together: so many of the largest are within `log_patterns.LARGEST_TOGETHER`."""

Triggers = Sequence[tuple[int, TriggerRow]]
"""Each with the id of its webhook."""


class LogTriggers:
    def __init__(self, read: ReadModel, queries: WebhookQueries, bus: Bus) -> None:
        self._read, self._queries, self._bus = read, queries, bus
        self._shown = -1
        self._triggers: Triggers = ()
        self._runs: OrderedDict[tuple[str, str], tuple[Watched, ...]] = OrderedDict()
        """By allocation and task."""

    async def watch(self, lines: Sequence[LogLine]) -> None:
        """Report every match in `lines`. Raises Unavailable while the directory is away: the sender of the lines sends
        them again."""
        await self._look()
        if not self._triggers:
            return
        for run, printed in by_run(lines).items():
            for watched in await self._watched(*run):
                for policy, line in watched.matches(printed):
                    await self._report(watched, int(policy.name), line)
                    watched.told(policy)

    async def _look(self) -> None:
        """The triggers change with the tables, and not otherwise."""
        if (shown := self._read.shown) == self._shown:
            return
        triggers = await self._queries.of_lines()
        if triggers != self._triggers:
            self._triggers = triggers
            self._runs.clear()
        self._shown = shown

    async def _watched(self, allocation_id: str, task_id: str) -> tuple[Watched, ...]:
        key = allocation_id, task_id
        if key not in self._runs:
            self._runs[key] = await self._look_up(allocation_id, task_id)
            while len(self._runs) > REMEMBERED:
                self._runs.popitem(last=False)
        return self._runs[key]

    async def _look_up(self, allocation_id: str, task_id: str) -> tuple[Watched, ...]:
        run = await self._queries.run(allocation_id, task_id)
        if run is None:
            await self._read.catch_up()
            run = await self._queries.run(allocation_id, task_id)
        if run is None:
            return ()
        patterns = [Policy(str(one.id), one.regex, "") for _, one in self._triggers]
        return tuple(
            Watched(run.experiment_id, run.trial_id, run.run_id, patterns[start : start + TOGETHER])
            for start in range(0, len(patterns), TOGETHER)
        )

    async def _report(self, watched: Watched, trigger_id: int, line: LogLine) -> None:
        webhook_id = next((webhook_id for webhook_id, one in self._triggers if one.id == trigger_id), None)
        if webhook_id is None:
            return  # the webhook was deleted since the line was matched
        report = ReportTaskLogMatch(
            webhook_id=webhook_id,
            trigger_id=trigger_id,
            experiment_id=watched.experiment_id,
            trial_id=watched.trial_id,
            task_id=line.task_id,
            agent_id=line.agent_id,
            line=line.text[:LINE_CHARS_MAX].replace("\0", "␀"),  # no event has a NUL: Postgres could not store it
        )
        name = hashlib.sha256(f"{line.task_id}/{trigger_id}".encode()).hexdigest()[:32]
        try:
            await self._bus.request(report, Cause(f"webhook-line-{name}", actor="webhooks"))
        except (Unavailable, Failed):
            raise
        except ResoluteError as error:  # the webhook or the experiment was deleted meanwhile
            log_.info("the match was not taken", trigger_id=trigger_id, trial_id=watched.trial_id, why=error.message)

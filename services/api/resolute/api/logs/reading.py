"""Reading the logs of trials and tasks: with filters, and live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TypeVar

from resolute.api import signals
from resolute.api.call import Call
from resolute.api.kernel.common import OrderBy
from resolute.api.lifecycle_lines import SOURCE
from resolute.api.logs.levels import STORED
from resolute.api.logs.messages import (
    TaskFields,
    TaskFieldsAnswer,
    TaskLine,
    TaskLogs,
    TrialFields,
    TrialFieldsAnswer,
    TrialLine,
    TrialLogs,
    WantedLines,
)
from resolute.api.logs.queries import QUERIES
from resolute.api.logs.shown import task_line, trial_line
from resolute.api.measures.logs import NO_RANK, LogFilter, StoredLine, follow
from resolute.api.tasks import lookup as tasks
from resolute.api.trials import lookup as trials
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine

PAGE = 2_000
LAST_LINES_S = 5.0
"""For how long a follower of a task that has ended waits for the lines about its end."""

Line = TypeVar("Line")


async def trial_logs(call: Call, request: TrialLogs) -> AsyncIterator[TrialLine]:
    trial = await trials.trial(call.gateway, request.trial_id)
    about = signals.trial(trial.trial_id)
    return await _lines(call, trial.task_ids, about, request, filter_of(request), partial(trial_line, trial.trial_id))


async def task_logs(call: Call, request: TaskLogs) -> AsyncIterator[TaskLine]:
    task_id = await tasks.task(call.gateway, request.task_id)
    return await _lines(
        call, [task_id], signals.task(task_id), request, filter_of(request, request.allocation_ids), task_line
    )


async def _lines(
    call: Call,
    task_ids: Sequence[str],
    about: str,
    request: WantedLines,
    wanted: LogFilter,
    shown: Callable[[StoredLine], Line],
) -> AsyncIterator[Line]:
    limit, newest_first = max(request.limit, 0), request.order_by is OrderBy.DESC
    if request.follow and limit:
        raise InvalidConfig("limit: does not go with follow; leave one of them out")
    if request.follow:
        pages = _following(call, task_ids, about, wanted)
    else:
        pages = _pages(call, task_ids, wanted, limit, newest_first)
    note = await _note_of_removal(call, task_ids[-1], wanted)
    return _each(_with_note(pages, note, limit, newest_first), shown)


async def _each(pages: AsyncIterator[list[StoredLine]], shown: Callable[[StoredLine], Line]) -> AsyncIterator[Line]:
    async for page in pages:
        for stored in page:
            yield shown(stored)


async def _pages(
    call: Call, task_ids: Sequence[str], wanted: LogFilter, limit: int, newest_first: bool
) -> AsyncIterator[list[StoredLine]]:
    """Up to `limit` lines (0: all) in pages, so that a long log is never held whole."""
    left, cursor = limit or float("inf"), 0
    while left > 0:
        page = await call.gateway.logs.read(
            task_ids, wanted, beyond=cursor, limit=int(min(left, PAGE)), newest_first=newest_first
        )
        if not page:
            return
        yield page
        left, cursor = left - len(page), page[-1].id


async def _with_note(
    pages: AsyncIterator[list[StoredLine]], note: StoredLine | None, limit: int, newest_first: bool
) -> AsyncIterator[list[StoredLine]]:
    """The note stands where the removed lines did: before all others. It counts as one of `limit` lines."""
    given = 0
    if note is not None and not newest_first:
        yield [note]
        given = 1
    async for page in pages:
        fitting = page[: limit - given] if limit else page
        yield fitting
        given += len(fitting)
    if note is not None and newest_first and (not limit or given < limit):
        yield [note]


async def _note_of_removal(call: Call, task_id: str, wanted: LogFilter) -> StoredLine | None:
    """A line that says what of the log was removed; none to a reader who asks for later lines only."""
    removed = await call.gateway.ports.of(QUERIES).removed(task_id)
    if removed is None or (wanted.after is not None and wanted.after >= removed.at):
        return None
    return StoredLine(0, LogLine(task_id, "", NO_RANK, 0, removed.at, "INFO", "", str(removed), source=SOURCE))


def _following(call: Call, task_ids: Sequence[str], about: str, wanted: LogFilter) -> AsyncIterator[list[StoredLine]]:
    """`about`: what news of the task's end goes by."""
    heard = 0

    async def over() -> bool:
        nonlocal heard
        await call.check_still_allowed()
        heard = call.gateway.signals.heard(about)
        await call.gateway.read.reached(heard)
        ended = await tasks.task_ended(call.gateway, task_ids[-1])
        if ended:
            await call.gateway.lifecycle.reached(call.gateway.read.shown, LAST_LINES_S)
        return ended

    async def news(timeout_s: float) -> None:
        if call.gateway.signals.heard(about) == heard:
            await call.gateway.signals.wait(about, timeout_s=timeout_s)

    return follow(call.gateway.logs, task_ids, wanted, over, news)


def filter_of(request: WantedLines, allocations: tuple[str, ...] = ()) -> LogFilter:
    return LogFilter(
        levels=tuple(STORED[level] for level in request.levels),
        ranks=request.rank_ids,
        allocations=allocations,
        containers=request.container_ids,
        agents=request.agent_ids,
        sources=request.sources,
        stdtypes=request.stdtypes,
        after=request.timestamp_after,
        before=request.timestamp_before,
        text=request.search_text,
        regex=bool(request.enable_regex),
    )


# ---------------------------------------------------------------- what lines can be filtered by


async def trial_fields(call: Call, request: TrialFields) -> AsyncIterator[TrialFieldsAnswer]:
    trial = await trials.trial(call.gateway, request.trial_id)
    found = await call.gateway.logs.fields(trial.task_ids)
    return _once(
        TrialFieldsAnswer(
            agent_ids=found.agents,
            container_ids=found.containers,
            rank_ids=found.ranks,
            sources=found.sources,
            stdtypes=found.stdtypes,
        )
    )


async def task_fields(call: Call, request: TaskFields) -> AsyncIterator[TaskFieldsAnswer]:
    task_id = await tasks.task(call.gateway, request.task_id)
    found = await call.gateway.logs.fields([task_id])
    return _once(
        TaskFieldsAnswer(
            agent_ids=found.agents,
            allocation_ids=found.allocations,
            container_ids=found.containers,
            rank_ids=found.ranks,
            sources=found.sources,
            stdtypes=found.stdtypes,
        )
    )


async def _once(answer: Line) -> AsyncIterator[Line]:
    yield answer

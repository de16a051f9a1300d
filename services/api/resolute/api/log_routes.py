"""Task logs over REST: shipped in batches, read back with filters, followed live."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from aiohttp import web

from resolute.api import lookup, wire
from resolute.api.body_kinds import LINES_MAX, LOG_LINES
from resolute.api.call import Call
from resolute.api.lifecycle_lines import SOURCE
from resolute.api.measures.logs import LEVELS, NO_RANK, LogFilter, StoredLine, follow, sequence_of
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.views.trial_logs import removed_from
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine

PAGE = 2_000
LAST_LINES_S = 5.0
"""How long a follower of a task that has ended waits for the lines that tell of its end."""
_RANK = re.compile(r"^\[rank=(\d+)\] ")


async def post_task_logs(call: Call) -> dict[str, Any]:
    records = call.body.get("logs")
    if not isinstance(records, list):
        raise InvalidConfig("logs: expected a list of log records")
    return await _store(call, records)


async def post_bare_task_logs(call: Call) -> dict[str, Any]:
    """The older route, a bare array; used by runs outside the cluster."""
    return await _store(call, await call.read.document("LegacyTaskLogs"))


async def _store(call: Call, records: Sequence[Any]) -> dict[str, Any]:
    assert call.principal.task is not None, "only tasks ship lines over REST"
    if len(records) > LINES_MAX:
        raise InvalidConfig(f"logs: expected at most {LINES_MAX:,} log records in a batch; found more")
    sender, now = call.principal.task.allocation_id, call.gateway.context.now()
    await call.gateway.store_lines(await asyncio.to_thread(lines_from, records, sender, call.cause.id, now))
    return {}


def lines_from(records: Sequence[Any], allocation_id: str, request_id: str, now: datetime) -> list[LogLine]:
    """REST's log records as lines of the allocation that sends them. Senders count no lines, so each line of a request
    is new, unless the request is one that was sent before under the same Idempotency-Key."""
    lines = []
    for index, record in enumerate(records):
        if not isinstance(record, dict) or not isinstance(record.get("taskId"), str):
            raise InvalidConfig(f"logs[{index}].taskId: expected a string")
        text = str(record.get("log", "")).removesuffix("\n")
        at = wire.instant(record.get("timestamp"), f"logs[{index}].timestamp") or now
        lines.append(
            LogLine(
                task_id=record["taskId"],
                allocation_id=allocation_id,
                rank=int(record.get("rankId") or 0),
                sequence=sequence_of(request_id, index),
                at=at,
                level=level_of(record.get("level"), f"logs[{index}].level"),
                stdtype=str(record.get("stdtype") or "stdout"),
                text=text,
                agent_id=str(record.get("agentId") or ""),
                container_id=str(record.get("containerId") or ""),
                source=str(record.get("source") or "task"),
            )
        )
    return lines


def level_of(value: Any, field: str) -> str:
    """INFO from LOG_LEVEL_INFO, INFO, 3 or nothing."""
    if value in (None, "", "LOG_LEVEL_UNSPECIFIED", 0):
        return "INFO"
    if isinstance(value, int) and 0 < value <= len(LEVELS):
        return LEVELS[value - 1]
    name = str(value).upper().removeprefix("LOG_LEVEL_")
    if name not in LEVELS:
        raise InvalidConfig(f"{field}: {value!r} is no level; one of {', '.join(LEVELS)} would do")
    return name


# ---------------------------------------------------------------- reading


async def trial_logs(call: Call) -> web.StreamResponse:
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    return await _logs(call, trial.task_ids, lambda stored: _trial_line(stored, trial.trial_id))


async def task_logs(call: Call) -> web.StreamResponse:
    task_id = await lookup.task(call.gateway, call.path["taskId"])
    return await _logs(call, [task_id], _task_line)


async def _logs(call: Call, task_ids: Sequence[str], form: Any) -> web.StreamResponse:
    wanted, limit = filter_of(call), max(call.query.number("limit"), 0)
    newest_first = call.query.text("orderBy") in ("ORDER_BY_DESC", "2")
    following = bool(call.query.flag("follow"))
    if following and limit:
        raise InvalidConfig("limit: does not go with follow; leave one of them out")
    pages = _following(call, task_ids, wanted) if following else _pages(call, task_ids, wanted, limit, newest_first)
    note = await _note_of_removal(call, task_ids[-1], wanted)

    async def results() -> AsyncIterator[dict[str, Any]]:
        async for page in _with_note(pages, note, limit, newest_first):
            for stored in page:
                yield form(stored)

    return await call.stream(results())


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
    removed = await removed_from(call.gateway.read, task_id)
    if removed is None or (wanted.after is not None and wanted.after >= removed.at):
        return None
    where = LogLine(task_id, "", NO_RANK, 0, removed.at, "INFO", "", str(removed), source=SOURCE)
    return StoredLine(0, where)


def _following(call: Call, task_ids: Sequence[str], wanted: LogFilter) -> AsyncIterator[list[StoredLine]]:
    async def over() -> bool:
        await call.check_still_allowed()
        ended = await lookup.task_ended(call.gateway, task_ids[-1])
        if ended:
            await call.gateway.lifecycle.reached(call.gateway.read.shown, LAST_LINES_S)
        return ended

    return follow(call.gateway.logs, task_ids, wanted, over)


def filter_of(call: Call) -> LogFilter:
    query = call.query
    return LogFilter(
        levels=tuple(level_of(value, "levels") for value in query.texts("levels")),
        ranks=tuple(query.numbers("rankIds")),
        allocations=tuple(query.texts("allocationIds")),
        containers=tuple(query.texts("containerIds")),
        agents=tuple(query.texts("agentIds")),
        sources=tuple(query.texts("sources")),
        stdtypes=tuple(query.texts("stdtypes")),
        after=wire.instant(query.text("timestampAfter"), "timestampAfter"),
        before=wire.instant(query.text("timestampBefore"), "timestampBefore"),
        text=query.text("searchText"),
        regex=bool(query.flag("enableRegex")),
    )


def _line(stored: StoredLine) -> dict[str, Any]:
    line = stored.line
    shown: dict[str, Any] = {
        "id": str(stored.id),
        "timestamp": wire.timestamp(line.at),
        "level": f"LOG_LEVEL_{line.level}",
        "message": message_view(line),
        "log": line.text + "\n",
        "agentId": line.agent_id,
        "containerId": line.container_id,
        "source": line.source,
    }
    if line.rank != NO_RANK:
        shown["rankId"] = line.rank
    if line.stdtype:
        shown["stdtype"] = line.stdtype
    return shown


def _trial_line(stored: StoredLine, trial_id: int) -> dict[str, Any]:
    return {"trialId": trial_id, **_line(stored)}


def _task_line(stored: StoredLine) -> dict[str, Any]:
    return {"taskId": stored.line.task_id, "allocationId": stored.line.allocation_id, **_line(stored)}


def message_view(line: LogLine) -> str:
    """The line as people read it: time, container, rank, level, text."""
    at = line.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    rank = "" if line.rank == NO_RANK else f" [rank={line.rank}]"
    return f"[{at}] {line.container_id[:8]:8}{rank} || {line.level}: {line.text}\n"


async def trial_log_fields(call: Call) -> web.StreamResponse:
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    fields = await call.gateway.logs.fields(trial.task_ids)
    fields.pop("allocationIds", None)
    return await call.stream(_one(fields))


async def task_log_fields(call: Call) -> web.StreamResponse:
    task_id = await lookup.task(call.gateway, call.path["taskId"])
    return await call.stream(_one(await call.gateway.logs.fields([task_id])))


async def _one(result: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield result


READ = SIGNED_IN.to("experiment.artifacts.view")
READ_TRIAL, READ_TASK = READ.about("trial", "trialId"), READ.about("task", "taskId")
SHIP = TASK.to("task.edit")

ROUTES = (
    Route(
        "PostTaskLogs",
        "POST",
        "/api/v1/task/logs",
        post_task_logs,
        SHIP.about("task", "body.logs.taskId"),
        body=LOG_LINES,
    ),
    Route(
        "LegacyTaskLogs",
        "POST",
        "/task-logs",
        post_bare_task_logs,
        SHIP.about("task", "body.taskId"),
        raw_body=True,
        body=LOG_LINES,
    ),
    Route("TrialLogs", "GET", "/api/v1/trials/{trialId}/logs", trial_logs, READ_TRIAL),
    Route("TrialLogsFields", "GET", "/api/v1/trials/{trialId}/logs/fields", trial_log_fields, READ_TRIAL),
    Route("TaskLogs", "GET", "/api/v1/tasks/{taskId}/logs", task_logs, READ_TASK),
    Route("TaskLogsFields", "GET", "/api/v1/tasks/{taskId}/logs/fields", task_log_fields, READ_TASK),
)

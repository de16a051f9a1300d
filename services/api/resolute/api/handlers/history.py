"""The event log over REST, for administrators: its events, page by page, and what was set aside.

Events are shown as they were recorded. Secrets in them are sealed (docs/security.md); what is in them in the clear,
names and configurations of everybody's work, is why they are for administrators alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import orjson

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.routing import ADMIN, Route
from resolute.eventlog import Aside, Sought
from resolute.eventlog.chain import Row
from resolute.proto.errors import InvalidConfig, Unavailable

PAGE, PAGE_MOST = 200, 1_000
BYTES_MOST = 4 * 1024 * 1024
"""A page ends before its events' data would be larger; it has one event at least."""
SEARCH_S = 20.0
"""How long a look into the log may take: one by fields walks all of it."""


async def get_events(call: Call) -> dict[str, Any]:
    """Events of the log after a position, in its order: all, or those of a stream, of types, of a cause, or those of
    which one of `fields` has one of `values`. Where there is none yet, waits up to timeoutSeconds for one."""
    sought, limit = _sought(call), call.query.number("limit") or PAGE
    log = call.gateway.context.log
    head = await log.head()
    rows = await _found(call, sought, limit)
    if not rows and (timeout_s := call.query.number("timeoutSeconds")) and await log.wait_beyond(head, timeout_s):
        head = await log.head()
        rows = await _found(call, sought, limit)
    page = _within_bounds(rows)
    more = len(page) < len(rows) or len(rows) == limit
    events = await asyncio.to_thread(lambda: [_event(row) for row in page])
    return {"events": events, "more": more, "head": wire.int64(head)}


def _sought(call: Call) -> Sought:
    query = call.query
    fields, values = query.texts("fields"), query.texts("values")
    if bool(fields) != bool(values):
        raise InvalidConfig("fields and values: found one without the other; an event is found by both")
    return Sought(
        after=query.number("after"),
        stream=query.text("stream"),
        caused_by=query.text("causedBy"),
        types=tuple(query.texts("types")),
        fields=tuple(fields),
        values=tuple(values),
    )


async def _found(call: Call, sought: Sought, limit: int) -> list[Row]:
    try:
        async with asyncio.timeout(SEARCH_S):
            return await call.gateway.context.log.find(sought, limit)
    except TimeoutError:
        raise Unavailable(
            f"the search in the log took longer than {SEARCH_S:g} s: name a stream, or a later position in after"
        ) from None


def _within_bounds(rows: Sequence[Row]) -> Sequence[Row]:
    sizes = accumulate(len(row.data) for row in rows)
    return [row for place, (row, size) in enumerate(zip(rows, sizes, strict=True)) if place == 0 or size <= BYTES_MOST]


def _event(row: Row) -> dict[str, Any]:
    return {
        "position": wire.int64(row.position),
        "stream": row.stream,
        "version": row.version,
        "type": row.type,
        "schemaVersion": row.schema_version,
        "data": orjson.loads(row.data),
        "causedBy": row.caused_by,
        "step": row.step,
        "correlationId": row.correlation_id,
        "actor": row.actor,
        "traceparent": row.traceparent,
        "recordedAt": wire.timestamp(row.recorded_at),
        "prevHash": row.prev_hash,
    }


async def get_asides(call: Call) -> dict[str, Any]:
    """Events that a service could not handle and set aside, with the reason, the oldest first."""
    found = await call.gateway.context.log.asides()
    page = wire.page_of(
        len(found), offset=call.query.number("offset"), limit=call.query.number("limit"), default_limit=PAGE
    )
    return {"asides": [_aside(one) for one in wire.cut(found, page)], "pagination": page.as_json()}


def _aside(one: Aside) -> dict[str, Any]:
    return {
        "consumer": one.consumer,
        "position": wire.int64(one.position),
        "error": one.error,
        "notedAt": wire.timestamp(one.noted_at),
        "againAt": wire.timestamp(one.again_at),
        "stream": one.stream,
        "version": one.version,
        "type": one.type,
    }


READ = ADMIN.to("cluster.history.view").outside()

ROUTES = (
    Route("GetLogEvents", "GET", "/api/v1/log/events", get_events, READ),
    Route("GetLogAsides", "GET", "/api/v1/log/asides", get_asides, READ),
)

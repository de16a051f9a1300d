"""The event log over REST, for administrators: its events, page by page, and what was set aside.

Events are shown as they were recorded. Secrets in them are sealed (docs/security.md); what is in them in the clear,
names and configurations of everybody's work, is why they are for administrators alone.
"""

from __future__ import annotations

import asyncio

import orjson

from resolute.api.call import Call
from resolute.api.history import queries
from resolute.api.history.messages import (
    GetLogAsides,
    GetLogEvents,
    LogAside,
    LogAsidesAnswer,
    LogEvent,
    LogEventsAnswer,
)
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.routing import ADMIN
from resolute.eventlog import Aside, Sought
from resolute.eventlog.chain import Row
from resolute.proto.errors import InvalidConfig


async def get_events(call: Call, request: GetLogEvents) -> LogEventsAnswer:
    """Events of the log after a position, in its order: all, or those of a stream, of types, of a cause, or those of
    which one of `fields` has one of `values`. Where there is none yet, waits up to timeoutSeconds for one."""
    limit = request.limit or queries.PAGE
    page = await queries.events(call.gateway.context.log, _sought(request), limit, request.timeout_seconds)
    shown = await asyncio.to_thread(lambda: tuple(map(_event, page.rows)))
    return LogEventsAnswer(events=shown, more=page.more, head=page.head)


def _sought(request: GetLogEvents) -> Sought:
    if bool(request.fields) != bool(request.values):
        raise InvalidConfig("fields and values: found one without the other; an event is found by both")
    return Sought(
        after=request.after,
        stream=request.stream,
        caused_by=request.caused_by,
        types=request.types,
        fields=request.fields,
        values=request.values,
    )


def _event(row: Row) -> LogEvent:
    return LogEvent(
        position=row.position,
        stream=row.stream,
        version=row.version,
        type=row.type,
        schema_version=row.schema_version,
        data=orjson.loads(row.data),
        caused_by=row.caused_by,
        step=row.step,
        correlation_id=row.correlation_id,
        actor=row.actor,
        traceparent=row.traceparent,
        recorded_at=row.recorded_at,
        prev_hash=row.prev_hash,
    )


async def get_asides(call: Call, request: GetLogAsides) -> LogAsidesAnswer:
    """Events that a service could not handle and set aside, with the reason, the oldest first."""
    window = Window(request.offset, request.limit or queries.PAGE)
    found = await queries.asides(call.gateway.context.log, window)
    return LogAsidesAnswer(asides=tuple(map(_aside, found.rows)), pagination=Pagination.of(found.page))


def _aside(one: Aside) -> LogAside:
    return LogAside(
        consumer=one.consumer,
        position=one.position,
        error=one.error,
        noted_at=one.noted_at,
        again_at=one.again_at,
        stream=one.stream,
        version=one.version,
        type=one.type,
    )


READ = ADMIN.to("cluster.history.view").outside()

ROUTES = (
    operation(
        "GetLogEvents",
        "GET",
        "/api/v1/log/events",
        get_events,
        READ,
        request=GetLogEvents,
        response=LogEventsAnswer,
        tag="Internal",
    ),
    operation(
        "GetLogAsides",
        "GET",
        "/api/v1/log/asides",
        get_asides,
        READ,
        request=GetLogAsides,
        response=LogAsidesAnswer,
        tag="Internal",
    ),
)

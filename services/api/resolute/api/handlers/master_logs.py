"""What the gateway's process wrote to its own log lately: with an embedded cluster that is every service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.measures.logs import LEVELS
from resolute.api.routing import SIGNED_IN, Route
from resolute.proto.errors import InvalidConfig
from resolute.service.recent_logs import RECENT, LogLine

LOOK_EVERY_S = 0.25
"""Lines may be written by any thread, and a person follows: looking again is soon enough."""


async def master_logs(call: Call) -> web.StreamResponse:
    """The newest lines of the log of the process that answers, from memory; its files hold all."""
    offset, limit, follow = call.query.number("offset"), call.query.number("limit"), bool(call.query.flag("follow"))
    if follow and limit > 0:
        raise InvalidConfig("limit: does not go with follow; leave one of them out")
    return await call.stream(_entries(call, offset, limit, follow))


async def _entries(call: Call, offset: int, limit: int, follow: bool) -> AsyncIterator[dict[str, Any]]:
    lines = RECENT.lines()
    last = lines[-1].id if lines else 0
    for line in wire.cut(lines, wire.page_of(len(lines), offset=offset, limit=limit)):
        yield _entry(line)
    while follow:
        await asyncio.sleep(LOOK_EVERY_S)
        await call.check_still_allowed()
        for line in RECENT.lines(after=last):
            yield _entry(line)
            last = line.id


def _entry(line: LogLine) -> dict[str, Any]:
    level = f"LOG_LEVEL_{line.level if line.level in LEVELS else 'UNSPECIFIED'}"
    entry = {"id": line.id, "level": level, "message": line.text, "timestamp": wire.timestamp(line.at)}
    return {"logEntry": entry}


VIEW = SIGNED_IN.to("cluster.logs.view").outside()

ROUTES = (Route("MasterLogs", "GET", "/api/v1/master/logs", master_logs, VIEW),)

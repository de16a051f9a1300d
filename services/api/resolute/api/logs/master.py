"""What the gateway's process wrote to its own log lately: with an embedded cluster that is every service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from resolute.api.call import Call
from resolute.api.kernel.paging import Window, cut
from resolute.api.logs import levels
from resolute.api.logs.messages import LogEntry, MasterLogs, MasterLogsAnswer
from resolute.proto.errors import InvalidConfig
from resolute.service.recent_logs import RECENT, LogLine

LOOK_EVERY_S = 0.25
"""Any thread may write lines, and a person follows them: to look again after this time is soon enough."""


async def master_logs(call: Call, request: MasterLogs) -> AsyncIterator[MasterLogsAnswer]:
    """The newest lines of the log of the process that answers, from memory; its files hold all."""
    if request.follow and request.limit > 0:
        raise InvalidConfig("limit: does not go with follow; leave one of them out")
    return _entries(call, Window(request.offset, request.limit), follow=bool(request.follow))


async def _entries(call: Call, window: Window, *, follow: bool) -> AsyncIterator[MasterLogsAnswer]:
    lines = RECENT.lines()
    last = lines[-1].id if lines else 0
    for line in cut(lines, window).rows:
        yield _entry(line)
    while follow:
        await asyncio.sleep(LOOK_EVERY_S)
        await call.check_still_allowed()
        for line in RECENT.lines(after=last):
            yield _entry(line)
            last = line.id


def _entry(line: LogLine) -> MasterLogsAnswer:
    entry = LogEntry(id=line.id, level=levels.shown(line.level), message=line.text, timestamp=line.at)
    return MasterLogsAnswer(log_entry=entry)

"""The log restricted to one service: using a stream that the table of streams does not give to the service is a bug.

Each service gets a restricted log when it starts, so that the check covers all its uses: folded aggregates, and appends
and reads by name. The check is an assert: the process stops before anything is written (STYLE section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from resolute.eventlog import Appended, EventLog
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.streams import category_of, check_append, check_read


def restricted_to(log: EventLog, service: str) -> EventLog:
    """`log` restricted to `service`, which appends to its own streams and reads those that the table gives it.

    Pages of the whole log are not filtered: a service ignores the events that it does not need.
    """
    return cast(EventLog, _RestrictedLog(log, service))


class _RestrictedLog:
    def __init__(self, log: EventLog, service: str) -> None:
        self._log, self._service = log, service

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        check_append(self._service, stream, (event.category for event in events))
        return await self._log.append(stream, events, expected_version=expected_version, cause=cause)

    async def read_stream(self, stream: str, after_version: int = 0, limit: int | None = None) -> list[Recorded]:
        check_read(self._service, category_of(stream))
        return await self._log.read_stream(stream, after_version, limit)

    async def stream_names(self, category: str) -> list[str]:
        check_read(self._service, category)
        return await self._log.stream_names(category)

    def __getattr__(self, name: str) -> Any:
        """The other methods of an `EventLog` are not about a stream, or are about the service's own snapshots."""
        return getattr(self._log, name)

"""The log as one service has it: what the table of streams does not give to the service is a bug of the service.

The check stands where a service opens its log, so that it holds for every way to the log: folded aggregates, and
appends and reads by name. It is an assert: the process stops before anything is written (STYLE section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from resolute.eventlog import Appended, EventLog
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.streams import category_of, check_append, check_read


def own(log: EventLog, service: str) -> EventLog:
    """`log` for `service` alone: it appends to its own streams and reads those that the table gives it.

    Pages of the whole log come as they are: a service passes over the events that are not for it.
    """
    return cast(EventLog, _OwnLog(log, service))


class _OwnLog:
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
        """Everything else an `EventLog` does is about no stream, or about the service's own folded states."""
        return getattr(self._log, name)

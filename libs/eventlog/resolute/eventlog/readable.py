"""What `resolute log` reads of a log, wherever it is: in its database, or behind a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from resolute.eventlog.chain import Row
from resolute.eventlog.log import Aside


class ReadableLog(Protocol):
    """Events undecoded, in the order of the log."""

    async def head(self) -> int: ...

    async def wait_beyond(self, position: int, timeout_s: float) -> bool: ...

    def rows(self, after: int = 0, batch: int = 2000) -> AsyncIterator[list[Row]]: ...

    async def stream_rows(self, stream: str) -> list[Row]: ...

    async def rows_of_types(self, stream: str, types: Sequence[str]) -> list[Row]: ...

    async def rows_mentioning(self, fields: Sequence[str], *values: str) -> list[Row]: ...

    async def rows_caused_by(self, stream: str, cause_id: str) -> list[Row]: ...

    async def row_at(self, position: int) -> Row | None: ...

    async def asides(self) -> list[Aside]: ...

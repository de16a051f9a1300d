"""Group commit for measurements: while one transaction is being made durable, the next gathers its callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from resolute.proto.errors import Unavailable

Row = TypeVar("Row")
Write = Callable[[Sequence[Row]], Awaitable[None]]

MAX_ROWS = 5_000
"""In one transaction: enough to make its fixed cost small, few enough to keep the callers' wait short."""
MAX_BYTES = 4 * 2**20
"""In one transaction: writing a row of so many bytes takes the event loop some 10 ms."""
MAX_BYTES_WAITING = 256 * 2**20
MAX_WAITING = 200_000
"""Rows in memory at most; beyond that callers are told to come back, rather than the gateway to grow."""


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[Row]):
    """A caller whose rows are not durable yet."""

    rows: Sequence[Row]
    size_bytes: int
    done: asyncio.Future[None]


class GroupWriter(Generic[Row]):
    """One writer at a time, each transaction holding all that came in during the one before."""

    def __init__(self, write: Write[Row]) -> None:
        """`write` makes rows durable, all or none; it may be given a row that was written before."""
        self._write = write
        self._waiting: list[_Waiting[Row]] = []
        self._rows_waiting = self._bytes_waiting = 0
        self._running: asyncio.Task[None] | None = None

    async def add(self, rows: Sequence[Row], size_bytes: int = 0) -> None:
        """Returns when `rows`, which are about `size_bytes` large, are durable.

        Raises Unavailable when they may not be: sending them again is safe.
        """
        if not rows:
            return
        if self._rows_waiting > MAX_WAITING or self._bytes_waiting > MAX_BYTES_WAITING:
            raise Unavailable("measurements arrive faster than the database takes them; send them again")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(rows, size_bytes, done))
        self._rows_waiting += len(rows)
        self._bytes_waiting += size_bytes
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._drain())
        await done

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._write_group(self._take())
        finally:
            self._running = None

    def _take(self) -> list[_Waiting[Row]]:
        """The longest-waiting callers, whole, up to MAX_ROWS and MAX_BYTES or a single larger one."""
        count = rows = size_bytes = 0
        for one in self._waiting:
            if count and (rows + len(one.rows) > MAX_ROWS or size_bytes + one.size_bytes > MAX_BYTES):
                break
            count, rows, size_bytes = count + 1, rows + len(one.rows), size_bytes + one.size_bytes
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._rows_waiting -= rows
        self._bytes_waiting -= size_bytes
        return taken

    async def _write_group(self, group: list[_Waiting[Row]]) -> None:
        try:
            await self._write([row for one in group for row in one.rows])
        except Exception as error:  # noqa: BLE001  (whatever it was, it belongs to those who wait)
            if len(group) > 1 and not isinstance(error, Unavailable):
                # Somebody's rows are not to be stored; nothing was. The others must not suffer from it.
                for one in group:
                    await self._write_group([one])
                return
            for one in group:
                if not one.done.done():
                    one.done.set_exception(error)
        else:
            for one in group:
                if not one.done.done():
                    one.done.set_result(None)

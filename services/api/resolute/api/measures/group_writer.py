"""Group commit for measurements: while one transaction is being made durable, the next gathers its callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from resolute.proto.errors import Unavailable

Row = TypeVar("Row")
Write = Callable[[Sequence[Row]], Awaitable[None]]

MAX_ROWS = 5_000
"""In one transaction: enough to make its fixed cost small, few enough to keep the callers' wait short."""
MAX_WAITING = 200_000
"""Rows in memory at most; beyond that callers are told to come back, rather than the gateway to grow."""


class GroupWriter(Generic[Row]):
    """One writer at a time, each transaction holding all that came in during the one before."""

    def __init__(self, write: Write[Row]) -> None:
        """`write` makes rows durable, all or none; it may be given a row that was written before."""
        self._write = write
        self._waiting: list[tuple[Sequence[Row], asyncio.Future[None]]] = []
        self._rows_waiting = 0
        self._running: asyncio.Task[None] | None = None

    async def add(self, rows: Sequence[Row]) -> None:
        """Returns when `rows` are durable. Raises Unavailable when they may not be: sending them again is safe."""
        if not rows:
            return
        if self._rows_waiting > MAX_WAITING:
            raise Unavailable("measurements arrive faster than the database takes them; send them again")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._rows_waiting += len(rows)
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._drain())
        await done

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._write_group(self._take())
        finally:
            self._running = None

    def _take(self) -> list[tuple[Sequence[Row], asyncio.Future[None]]]:
        """The longest-waiting callers, whole, up to MAX_ROWS or a single larger one."""
        count = rows = 0
        for waiting, _ in self._waiting:
            if count and rows + len(waiting) > MAX_ROWS:
                break
            count, rows = count + 1, rows + len(waiting)
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._rows_waiting -= rows
        return taken

    async def _write_group(self, group: list[tuple[Sequence[Row], asyncio.Future[None]]]) -> None:
        try:
            await self._write([row for rows, _ in group for row in rows])
        except Exception as error:  # noqa: BLE001  (whatever it was, it belongs to those who wait)
            if len(group) > 1 and not isinstance(error, Unavailable):
                # Somebody's rows are not to be stored; nothing was. The others must not suffer from it.
                for one in group:
                    await self._write_group([one])
                return
            for _, done in group:
                if not done.done():
                    done.set_exception(error)
        else:
            for _, done in group:
                if not done.done():
                    done.set_result(None)

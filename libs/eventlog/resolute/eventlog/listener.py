"""Waits for appends to the log: one LISTEN connection per process, to which Postgres announces every append."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from resolute.eventlog.outages import OUTAGES

CHANNEL = "resolute_log"


class LogListener:
    """Knows the newest position of the log, soon after each append.

    While the connection is down, `listening` is false and callers have to poll, so that waiting takes longer.
    """

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]], head_sql: str) -> None:
        self._connect, self._head_sql = connect, head_sql
        self._grown = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.position = 0
        """The log has events at least up to here."""
        self.listening = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._listen(), name="eventlog listener")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def advance(self, position: int) -> None:
        """Notes that the log has an event at `position`: announced by Postgres, read, or appended by this process."""
        if position > self.position:
            self.position = position
            grown, self._grown = self._grown, asyncio.Event()
            grown.set()

    async def wait_for_growth(self, timeout_s: float) -> None:
        """Waits until `position` has advanced, or `timeout_s` has passed."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._grown.wait()
        except TimeoutError:
            return

    async def _listen(self) -> None:
        pause_s = 0.05
        while True:
            try:
                connection = await self._connect()
                try:
                    await self._receive(connection)
                    pause_s = 0.05
                finally:
                    self.listening = False
                    connection.terminate()
            except OUTAGES:
                pause_s = min(pause_s * 2, 2.0)
            await asyncio.sleep(pause_s)

    async def _receive(self, connection: asyncpg.Connection) -> None:
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        await connection.add_listener(CHANNEL, lambda _connection, _pid, _channel, payload: self.advance(int(payload)))
        # Appends before LISTEN took effect were not announced to this connection.
        self.advance(await connection.fetchval(self._head_sql))
        self.listening = True
        await gone.wait()

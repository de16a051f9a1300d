"""The ear on the log: one LISTEN connection per process, which hears of every append in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from resolute.eventlog.outages import OUTAGES

CHANNEL = "resolute_log"


class Ear:
    """Knows up to where the log has grown, soon after it has; a deaf ear only makes waiting slower."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]], head_sql: str) -> None:
        self._connect, self._head_sql = connect, head_sql
        self._grown = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self.position = 0
        """The log holds at least this much."""
        self.hears = False

    def start(self) -> None:
        self._listening = asyncio.create_task(self._listen(), name="eventlog ear")

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})

    def learn(self, position: int) -> None:
        """The log holds an event at `position`, whoever says so."""
        if position > self.position:
            self.position = position
            grown, self._grown = self._grown, asyncio.Event()
            grown.set()

    async def growth(self, timeout_s: float) -> None:
        """Wait until there is news, or `timeout_s` has passed."""
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
                    await self._hear(connection)
                    pause_s = 0.05
                finally:
                    self.hears = False
                    connection.terminate()
            except OUTAGES:
                pause_s = min(pause_s * 2, 2.0)
            await asyncio.sleep(pause_s)

    async def _hear(self, connection: asyncpg.Connection) -> None:
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        await connection.add_listener(CHANNEL, lambda _connection, _pid, _channel, payload: self.learn(int(payload)))
        self.learn(await connection.fetchval(self._head_sql))  # what was said before we listened
        self.hears = True
        await gone.wait()

"""An HTTP client that costs next to nothing: whole requests prepared before the clock starts, answers barely read.

On a small machine an ordinary client is as busy as the server it measures. This one writes bytes it has, looks for
the status and the end of the answer, and does nothing else; it speaks as much HTTP/1.1 as aiohttp and uvicorn answer
with (Content-Length or chunks, keep-alive).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast


def request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    if body:
        lines.append("Content-Type: application/json")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection, one request at a time."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._answer is not None and not self._answer.done() and _whole(self._received):
            self._answer.set_result(self._received)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("the server closed the connection"))

    async def ask(self, prepared: bytes) -> bytes:
        """The whole answer, head and body, as it came."""
        assert self._transport is not None
        self._received = b""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(prepared)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _whole(received: bytes) -> bool:
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = received[:end].lower()
    at = head.find(b"content-length:")
    if at >= 0:
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        return len(received) >= end + 4 + length
    return received.endswith(b"0\r\n\r\n")


@dataclass
class Load:
    """What a run of many requests came to."""

    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    asked: int = 0
    """All requests, those of the warm-up too."""
    lost: int = 0
    """Requests that the server closed the connection on."""

    @property
    def per_s(self) -> float:
        return len(self.latencies_s) / self.seconds

    def percentile_ms(self, percent: float) -> float:
        ordered = sorted(self.latencies_s)
        return 1000 * ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


async def connect(host: str, port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection


async def load(
    host: str,
    port: int,
    requests: Callable[[int], Iterator[bytes]],
    *,
    connections: int,
    seconds: float,
    warm_s: float = 1.0,
) -> Load:
    """Sends requests as fast as `connections` clients get answers. `requests(n)` are those of client n, made before
    they are needed. Requests in the first `warm_s` are not counted. Any status but 200 stops the run."""
    made = Load()
    began = time.perf_counter()
    ends = began + warm_s + seconds

    async def client(number: int) -> None:
        connection = await connect(host, port)
        for prepared in requests(number):
            asked = time.perf_counter()
            made.asked += 1
            try:
                answer = await connection.ask(prepared)
            except ConnectionError:
                made.lost += 1
                connection = await connect(host, port)
                continue
            now = time.perf_counter()
            assert answer.startswith(b"HTTP/1.1 200"), answer[:500]
            if asked - began >= warm_s:
                made.latencies_s.append(now - asked)
            if now >= ends:
                break
        connection.close()

    await asyncio.gather(*map(client, range(connections)))
    made.seconds = time.perf_counter() - began - warm_s
    return made

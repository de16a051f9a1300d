"""Requests to receivers: no address inside the cluster, however it is written, no redirects, and limits of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from resolute.directory.webhooks.addresses import Allowed
from resolute.directory.webhooks.sender import Answer, HttpSender

LOOPBACK = Allowed.of(["127.0.0.1"])

Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def receiver(respond: Respond) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Its address, and the first lines of the requests that came."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        await respond(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", asked
    finally:
        server.close()


def answering(status: bytes) -> Respond:
    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 " + status + b"\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    return respond


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/"),
        *("http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://user:word@127.0.0.1/"),
    ],
)
async def test_loopback_is_refused_however_it_is_written(url: str) -> None:
    answer = await HttpSender(Allowed())(url, b"{}", {})
    assert answer.final
    assert "is not a public address" in answer.why


async def test_the_socket_is_refused_where_a_name_leads_elsewhere_after_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def checked(self: HttpSender, url: str) -> None:
        return None

    monkeypatch.setattr(HttpSender, "problem", checked)
    async with receiver(answering(b"200 OK")) as (url, asked):
        answer = await HttpSender(Allowed())(url, b"{}", {})
    assert answer.status is None
    assert asked == []


@pytest.mark.parametrize(
    ("status", "final"),
    [(b"302 Found", True), (b"404 Not Found", True), (b"429 Too Many Requests", False), (b"503 Unavailable", False)],
)
async def test_a_redirect_and_a_refusal_are_final_and_a_receiver_in_trouble_is_not(status: bytes, final: bool) -> None:
    async with receiver(answering(status)) as (url, asked):
        answer = await HttpSender(LOOPBACK)(url, b"{}", {})
    assert (answer.status, answer.final, answer.succeeded) == (int(status.split()[0]), final, False)
    assert asked == [b"POST / HTTP/1.1\r\n"]


async def test_a_receiver_that_never_answers_is_left_after_the_limit() -> None:
    ended = asyncio.Event()

    async def silent(writer: asyncio.StreamWriter) -> None:
        await ended.wait()

    async with receiver(silent) as (url, _):
        answer = await HttpSender(LOOPBACK, limit_s=0.2)(url, b"{}", {})
        ended.set()
    assert answer == Answer(why="no answer within 0.2 s")


async def test_a_body_without_an_end_is_not_read() -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
        await writer.drain()

    async with receiver(endless) as (url, _):
        assert await HttpSender(LOOPBACK)(url, b"{}", {}) == Answer(200)

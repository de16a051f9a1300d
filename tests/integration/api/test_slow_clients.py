"""Clients that are slow, greedy or broken, over real sockets: the gateway gets rid of them, and serves the others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from prometheus_client import REGISTRY

from resolute.api.edge import protocol
from resolute.api.edge.limits import ConnectionLimits
from resolute.deploy import certificates
from tests.integration.api.running import Client, Running, running

WITHIN_S = 60.0

QUICK = ConnectionLimits(
    header_timeout_s=1.0,
    stranger_body_timeout_s=1.0,
    rate_window_s=1.0,
    stranger_idle_timeout_s=1.0,
    idle_timeout_s=60,
    handshake_timeout_s=2.0,
)

HEAD = b"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = HEAD + b"\r\n"
LOGIN = b"POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@asynccontextmanager
async def gateway(dsn: str, limits: ConnectionLimits = QUICK, **settings: Any) -> AsyncIterator[Running]:
    async with running(dsn, connections=limits, **settings) as cluster:
        yield cluster


class Slow:
    """A client that sends what it is told to, and nothing else."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def rest(self) -> bytes:
        """All that comes until the gateway closes the connection."""
        async with asyncio.timeout(WITHIN_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    async def answer(self) -> tuple[int, dict[str, Any]]:
        """The next answer on the connection."""
        async with asyncio.timeout(WITHIN_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return int(head.split()[1]), orjson.loads(await self.reader.readexactly(length))


@asynccontextmanager
async def connected(cluster: Running, first: bytes = b"", **options: Any) -> AsyncIterator[Slow]:
    host, port = cluster.nobody.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), **options)
    client = Slow(reader, writer)
    if first:
        client.send(first)
    try:
        yield client
    finally:
        writer.transport.abort()


def ended(reason: str) -> float:
    return REGISTRY.get_sample_value("resolute_api_connections_ended_total", {"reason": reason}) or 0.0


def refused(raw: bytes) -> tuple[int, str]:
    """Status and message of a whole answer, which has the wire's form and the headers of every answer."""
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower(), raw
    assert b"x-content-type-options: nosniff" in head.lower(), raw
    return int(head.split()[1]), str(orjson.loads(body)["error"]["error"])


async def test_a_connection_without_a_request_is_closed(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster, connected(cluster) as client:
        assert await client.rest() == b""
        assert ended("slow head") >= 1


async def test_a_head_that_does_not_end_is_answered_and_closed(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster, connected(cluster, HEAD + b"X-Slow: ") as client:
        status, message = refused(await client.rest())
        assert status == 408
        assert "head of the request was not whole within 1 s" in message


async def test_a_head_that_comes_byte_by_byte_gets_no_more_time(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster, connected(cluster, HEAD + b"X-Slow: ") as client:
        answer = asyncio.create_task(client.rest())
        while not answer.done():
            client.send(b"a")
            await asyncio.wait({answer}, timeout=0.02)
        assert answer.result()[9:12] in (b"408", b""), "the byte after the last may have broken the connection"


async def test_the_second_request_of_a_connection_has_a_limit_too(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster, connected(cluster, WHOLE) as client:
        assert (await client.answer())[0] == 200
        client.send(HEAD)
        assert refused(await client.rest())[0] == 408


async def test_a_stranger_that_asks_nothing_more_is_closed_and_a_user_is_not(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster:
        user = await cluster.nobody.login("determined")
        mine = f"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {user.token}\r\n\r\n".encode()
        async with connected(cluster, mine) as known, connected(cluster, WHOLE) as stranger:
            assert (await known.answer())[0] == (await stranger.answer())[0] == 200
            assert await stranger.rest() == b""
            known.send(mine)
            assert (await known.answer())[0] == 200


async def test_a_strangers_body_that_stops_is_answered_and_closed(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster:
        async with connected(cluster, LOGIN + b'Content-Length: 100\r\n\r\n{"user') as client:
            status, message = refused(await client.rest())
        assert status == 408
        assert "6 bytes came" in message


async def test_a_users_body_may_be_slow_but_not_slower_than_the_limit(postgres_dsn: str) -> None:
    """The steady client is far above the limit, in windows of a second: a machine that stops for a moment must not make
    it look slow."""
    async with gateway(postgres_dsn, QUICK.model_copy(update={"rate_min": 100, "rate_window_s": 1.0})) as cluster:
        user = await cluster.nobody.login("determined")
        body = b"{" + b" " * 59_998 + b"}"
        head = (
            "POST /api/v1/users/setting/reset HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {user.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        async with connected(cluster, head) as steady, connected(cluster, head + b"{") as stuck:
            answer = asyncio.create_task(stuck.rest())
            for place in range(0, len(body), 1_000):  # 60 pieces, 50 ms between them: three windows in all
                steady.send(body[place : place + 1_000])
                await asyncio.sleep(0.05)  # the pace is what is tested
            assert (await steady.answer())[0] == 200
            assert refused(await answer)[0] == 408


async def test_a_client_that_does_not_read_its_answer_is_cut_off(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn, QUICK.model_copy(update={"per_caller": 4})) as cluster:
        before = ended("slow reader")
        request = b"GET /api/v1/api.swagger.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        async with connected(cluster, limit=1) as client:
            client.reader._transport.pause_reading()  # type: ignore[attr-defined]
            async with asyncio.timeout(WITHIN_S):
                while ended("slow reader") == before:
                    client.send(request * 20)
                    await asyncio.sleep(0.02)
            client.reader._transport.resume_reading()  # type: ignore[attr-defined]
            await client.rest()


async def test_a_request_that_waits_at_the_gateway_has_no_limit_here(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        path = "/api/v1/master/logs?follow=true"
        headers = {"Authorization": f"Bearer {admin.token}"}
        following = asyncio.create_task(cluster.nobody.call("GET", path, headers=headers))
        for _ in range(3):  # three windows without a byte from the client
            async with connected(cluster) as idle:
                await idle.rest()
        assert not following.done()
        following.cancel()


async def test_a_crowd_of_half_sent_requests_keeps_nobody_out(postgres_dsn: str) -> None:
    limits = ConnectionLimits(max=400, strangers_max=100, per_address=20, kept_for_tasks=50)
    async with gateway(postgres_dsn, limits) as cluster:
        user = await cluster.nobody.login("determined")
        crowd = [await asyncio.open_connection(*cluster.nobody.base[7:].split(":")) for _ in range(300)]
        for _, writer in crowd:
            writer.write(HEAD)
        for _ in range(20):  # each over a connection of its own
            headers = {"Connection": "close"}
            assert (await user.call("GET", "/api/v1/me", headers=headers)).status == 200
            assert (await cluster.nobody.call("GET", "/info", headers=headers)).status == 200
            await cluster.nobody.login("determined")
        for _, writer in crowd:
            writer.transport.abort()


async def test_a_user_with_too_many_connections_is_told_the_limit(postgres_dsn: str) -> None:
    async with gateway(postgres_dsn, ConnectionLimits(per_caller=2)) as cluster:
        user = await cluster.nobody.login("determined")
        mine = f"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {user.token}\r\n\r\n".encode()
        async with connected(cluster, mine) as first, connected(cluster, mine) as second:
            assert [(await client.answer())[0] for client in (first, second)] == [200, 200]
            async with connected(cluster, mine) as third:
                status, body = await third.answer()
                assert status == 429
                assert "connections.per_caller" in body["error"]["error"]
            first.writer.transport.abort()
            await cluster.until(lambda: status_of(user), 200)


async def status_of(user: Client) -> int:
    return (await user.call("GET", "/api/v1/me", headers={"Connection": "close"})).status


async def test_handshakes_that_are_not_finished_are_ended_and_make_room(postgres_dsn: str, tmp_path: Path) -> None:
    certificates.ensure_authority(tmp_path, "test")
    certificates.ensure_certificate(tmp_path, "gateway", ["localhost", "127.0.0.1"])
    told = {"tls_cert": tmp_path / "gateway.crt", "tls_key": tmp_path / "gateway.key", "host": "0.0.0.0"}
    slow = ConnectionLimits(max=64, strangers_max=8, handshake_timeout_s=60)
    trusted = ssl.create_default_context(cafile=str(tmp_path / certificates.AUTHORITY))
    for limits in (QUICK, slow):
        async with gateway(postgres_dsn, limits, **told) as cluster:
            crowd = [await asyncio.open_connection(*cluster.nobody.base[7:].split(":")) for _ in range(24)]
            base = cluster.nobody.base.replace("http://0.0.0.0", "https://127.0.0.1")
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as http:
                answer = await Client(base, http).call("GET", "/info")
            assert answer.status == 200
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
            gone = len(crowd) if limits is QUICK else len(crowd) - slow.strangers_max
            for reader, _ in crowd[:gone]:
                async with asyncio.timeout(WITHIN_S):
                    with suppress(ConnectionError):
                        assert await reader.read() == b""
            for _, writer in crowd:
                writer.transport.abort()


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (b"GET /api/v1/" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "longer than 8190 bytes"),
        (b"GET /api/v1/me?x=" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "longer than 8190 bytes"),
        (HEAD + b"X-Long: " + b"x" * 9000 + b"\r\n\r\n", 431, "a header of the request is longer"),
        (HEAD + b"X-Many: 1\r\n" * 200 + b"\r\n", 400, "no valid HTTP"),
        (b"hello\r\n\r\n", 400, "no HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "no HTTP/1.1"),
        (b"GET /info HTTP/9.9\r\n\r\n", 400, "HTTP/1.1"),
        (HEAD + b"Bad Header: 1\r\n\r\n", 400, "no valid HTTP"),
        (HEAD + b"Content-Length: x\r\n\r\n", 400, "no valid HTTP"),
        (HEAD + b"Expect: a miracle\r\nConnection: close\r\n\r\n", 417, "xpect"),
        (LOGIN + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "no valid HTTP"),
        (LOGIN + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 400, "body of the request cannot be read"),
    ],
)
async def test_what_is_no_http_is_answered_as_everything_else_is(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch, request_: bytes, status: int, words: str
) -> None:
    monkeypatch.setattr(protocol, "LINGER_S", 0.3)
    async with gateway(postgres_dsn) as cluster, connected(cluster, request_) as client:
        found, message = refused(await client.rest())
        assert found == status
        assert words in message

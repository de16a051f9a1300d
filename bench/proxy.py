"""The way in to tasks through one gateway: latency and throughput beside a direct connection, and 1,000 WebSockets.

The task is a command with a port that serves HTTP (aiohttp), as a process on the same machine. What the
services, the agent and the task need for the open WebSockets is their resident memory before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import uvloop

from bench.commands import ask, login
from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell
from bench.harness import percentile
from bench.raw_http import load, request
from tests.ports import free_port

MIB = 2**20
PROGRAM = """
import sys
from aiohttp import WSMsgType, web

PIECE = bytes(2**18)

async def small(request):
    return web.Response(body=b"small")

async def large(request):
    response = web.StreamResponse(headers={"Content-Length": str(int(request.query["mib"]) * 2**20)})
    await response.prepare(request)
    for _ in range(int(request.query["mib"]) * 4):
        await response.write(PIECE)
    return response

async def socket(request):
    made = web.WebSocketResponse()
    await made.prepare(request)
    async for message in made:
        if message.type is WSMsgType.BINARY:
            await made.send_bytes(message.data)
    return made

app = web.Application()
base = sys.argv[2]
app.router.add_get(base + "small", small)
app.router.add_get(base + "large", large)
app.router.add_get(base + "socket", socket)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


async def measure(seconds: float, mib: int, sockets: int) -> list[Figure]:
    with embedded() as cluster, TemporaryDirectory() as folder:
        cluster.up()
        port = free_port()
        (Path(folder) / "serve.py").write_text(PROGRAM)
        token = await login(cluster.port)
        ports = f"environment.proxy_ports=[{{proxy_port: {port}, default_service_id: true}}]"
        line = f"python3 serve.py {port} /proxy/$DET_TASK_ID/"
        config = ("--config", ports, "--config", "resources.slots=0")
        task_id = cluster.det("cmd", "run", "-d", "-c", folder, *config, line).split()[-1]
        path = f"/proxy/{task_id}/"
        await _answers(cluster.port, f"{path}small", token)
        found = await _latency(cluster.port, port, path, token, seconds)
        found += await _throughput(cluster.port, port, path, token, mib)
        return found + await _websockets(cluster, path, token, sockets)


async def _answers(port: int, path: str, token: str) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http, asyncio.timeout(60):
        while True:
            async with http.get(f"http://127.0.0.1:{port}{path}") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(0.05)


async def _latency(gateway: int, direct: int, path: str, token: str, seconds: float) -> list[Figure]:
    def asking(of: str, _: int) -> Iterator[bytes]:
        return itertools.repeat(request("GET", f"{path}small", of))

    through = await load("127.0.0.1", gateway, partial(asking, token), connections=1, seconds=seconds)
    beside = await load("127.0.0.1", direct, partial(asking, ""), connections=1, seconds=seconds)
    many = await load("127.0.0.1", gateway, partial(asking, token), connections=16, seconds=seconds)
    added = through.percentile_ms(50) - beside.percentile_ms(50)
    return [
        Figure("a small answer through the gateway, p50", through.percentile_ms(50), "ms"),
        Figure("a small answer through the gateway, p99", through.percentile_ms(99), "ms"),
        Figure("beside: direct, p50", beside.percentile_ms(50), "ms"),
        Figure("what the gateway adds, p50", added, "ms", 1, at_most=True),
        Figure("small answers through the gateway, 16 clients", many.per_s, "answers/s"),
    ]


async def _throughput(gateway: int, direct: int, path: str, token: str, mib: int) -> list[Figure]:
    through = max([await _read(gateway, f"{path}large?mib={mib}", token) for _ in range(3)])
    beside = max([await _read(direct, f"{path}large?mib={mib}", "") for _ in range(3)])
    return [
        Figure("one large answer through the gateway", through, "MB/s", 500),
        Figure("beside: direct", beside, "MB/s"),
        Figure("as a part of that", through / beside, "x"),
    ]


async def _read(port: int, path: str, token: str) -> float:
    """Megabytes a second. The body is counted and dropped."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    began = time.perf_counter()
    writer.write(request("GET", path, token))
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert head.startswith(b"http/1.1 200"), head
    left = length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while left > 0:
        left -= len(await reader.read(2**20))
    writer.close()
    return length / 1e6 / (time.perf_counter() - began)


async def _websockets(cluster: Embedded, path: str, token: str, sockets: int) -> list[Figure]:
    """Opened one after another; then each sends, and gets back, 100 bytes every second for 10 seconds."""
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as http:
        before = _memory(cluster)
        began = time.perf_counter()
        opened = [await http.ws_connect(f"http://127.0.0.1:{cluster.port}{path}socket") for _ in range(sockets)]
        opening = (time.perf_counter() - began) / sockets
        times = [time_s for found in await asyncio.gather(*map(_echoes, opened)) for time_s in found]
        used = (_memory(cluster) - before) / sockets / 1024
        await asyncio.gather(*(one.close() for one in opened))
    await ask(cluster.port, "GET", "/api/v1/master", token=token)
    return [
        Figure(f"opening each of {sockets} WebSockets", opening * 1000, "ms"),
        Figure(f"an echo while {sockets} are open and send each second, p50", percentile(times, 50) * 1000, "ms"),
        Figure(f"an echo while {sockets} are open and send each second, p99", percentile(times, 99) * 1000, "ms"),
        Figure("memory of services, agent and task for each", used, "KiB"),
    ]


async def _echoes(socket: aiohttp.ClientWebSocketResponse) -> list[float]:
    times = []
    for _ in range(10):
        began = time.perf_counter()
        await socket.send_bytes(bytes(100))
        await socket.receive_bytes()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(1)
    return times


def _memory(cluster: Embedded) -> float:
    """Bytes, of the services, the agent and the task."""
    return float(sum(p.memory_info().rss for p in cluster.processes() if p.name().startswith("python")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--mib", type=int, default=1_024)
    parser.add_argument("--sockets", type=int, default=1_000)
    asked = parser.parse_args()
    tell("proxy", uvloop.run(measure(asked.seconds, asked.mib, asked.sockets)))


if __name__ == "__main__":
    main()

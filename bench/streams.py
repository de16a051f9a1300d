"""Live updates: 1,000 listeners at one gateway, while trials report and models change.

Each listener subscribes to one of a hundred models over a WebSocket of its own, so that each change reaches ten of
them. The latency is the time from the event's own time in the log (which Postgres sets as it is appended) to the
message at the listener, all on one machine with one clock. The gateway, the relay and the directory are one process;
the listeners, the load of reports and the changes are another.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import aiohttp
import orjson
import psutil
import uvloop

from bench.commands import ask, login
from bench.figures import Figure, tell
from bench.harness import percentile
from bench.ingest import singles
from bench.raw_http import load
from bench.stage import Trial, relayed_gateway, servers, tell_of_trials
from resolute.eventlog.postgres import PostgresEventLog

MODELS = 100
AT_ONCE = 50
"""Listeners that connect at the same time."""

CHANGES_PER_S = 10
"""Events about models, each of which ten listeners are sent."""

CONNECTIONS = 64
"""Clients that report as fast as they are answered."""


@dataclass
class Heard:
    """What all listeners were sent, and how long after the event."""

    latencies_s: list[float] = field(default_factory=list)
    measuring: bool = False

    def take(self, message: str) -> None:
        now = time.time()
        model = orjson.loads(message).get("model")
        if model is not None and self.measuring:
            self.latencies_s.append(now - datetime.fromisoformat(model["last_updated_time"]).timestamp())


async def listener(
    session: aiohttp.ClientSession, port: int, model_id: int, heard: Heard, stack: AsyncExitStack
) -> None:
    """Connect and wait for the end of the sync. What comes afterwards is heard until the stack is left."""
    socket = await stack.enter_async_context(session.ws_connect(f"http://127.0.0.1:{port}/stream"))
    await socket.send_json({"sync_id": "bench", "subscribe": {"models": {"model_ids": [model_id]}}})
    while not (await socket.receive_json()).get("complete"):
        pass

    async def hear() -> None:
        async for message in socket:
            heard.take(message.data)

    task = asyncio.create_task(hear())
    stack.callback(task.cancel)


async def listeners(count: int, port: int, token: str, heard: Heard, stack: AsyncExitStack) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Authorization": f"Bearer {token}"}
    session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, headers=headers))
    for start in range(0, count, AT_ONCE):
        several = range(start, min(start + AT_ONCE, count))
        await asyncio.gather(*(listener(session, port, 1 + n % MODELS, heard, stack) for n in several))


async def change(port: int, token: str) -> int:
    """Change one model after another at a steady pace until cancelled."""
    number = 0
    began = time.perf_counter()
    while True:
        model_id = 1 + number % MODELS
        await ask(port, "PATCH", f"/api/v1/models/{model_id}", {"notes": f"{number}"}, token)
        number += 1
        await asyncio.sleep(max(0.0, began + number / CHANGES_PER_S - time.perf_counter()))


@dataclass(frozen=True, slots=True)
class Measured:
    latencies_s: list[float]
    reports_per_s: float


async def heard_during(heard: Heard, port: int, token: str, work: Callable[[], Awaitable[float]]) -> Measured:
    """What listeners hear of changes while `work` goes on, which answers reports a second."""
    changing = asyncio.create_task(change(port, token))
    heard.latencies_s, heard.measuring = [], True
    try:
        reports = await work()
        if changing.done():
            changing.result()
    finally:
        heard.measuring = False
        changing.cancel()
        with suppress(asyncio.CancelledError):
            await changing
    return Measured(heard.latencies_s, reports)


async def measure(count: int, seconds: float) -> list[Figure]:
    os.environ["RESOLUTE_API_STREAMS__PER_USER"] = str(count)  # one user has them all
    with servers() as (postgres, nats):
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        trials = await tell_of_trials(log, CONNECTIONS)
        await log.close()
        with relayed_gateway(dsn, nats.url) as served:
            return await _measured(served.port, psutil.Process(served.pid), trials, count, seconds)


async def _measured(
    port: int, gateway: psutil.Process, trials: list[Trial], count: int, seconds: float
) -> list[Figure]:
    token, heard = await login(port), Heard()
    for number in range(MODELS):
        await ask(port, "POST", "/api/v1/models", {"name": f"model-{number}"}, token)

    async def quiet() -> float:
        await asyncio.sleep(seconds)
        return 0.0

    async def busy() -> float:
        requests = partial(singles, trials, 3)
        return (await load("127.0.0.1", port, requests, connections=CONNECTIONS, seconds=seconds)).per_s

    async with AsyncExitStack() as stack:
        before, began = gateway.memory_info().rss, time.perf_counter()
        await listeners(count, port, token, heard, stack)
        joined_s = time.perf_counter() - began
        after = gateway.memory_info().rss
        alone = await heard_during(heard, port, token, quiet)
        beside = await heard_during(heard, port, token, busy)
    sent = len(alone.latencies_s) / seconds
    alone_ms, beside_ms = (partial(_percentile_ms, one.latencies_s) for one in (alone, beside))
    return [
        Figure(f"{count:,} listeners connect and are in sync", count / joined_s, "a second"),
        Figure("memory of the gateway for each listener", (after - before) / count / 1024, "KiB"),
        Figure("messages to listeners, nothing else running", sent, "messages/s"),
        Figure("event to listener, p50", alone_ms(50), "ms", 20, at_most=True),
        Figure("event to listener, p99", alone_ms(99), "ms"),
        Figure("reports beside them", beside.reports_per_s, "reports/s", 3000),
        Figure(
            "event to listener beside the reports, p50",
            beside_ms(50),
            "ms",
            20,
            at_most=True,
        ),
        Figure("event to listener beside the reports, p99", beside_ms(99), "ms"),
    ]


def _percentile_ms(latencies_s: list[float], percent: float) -> float:
    return 1000 * percentile(latencies_s, percent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listeners", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20)
    asked = parser.parse_args()
    tell("streams", uvloop.run(measure(asked.listeners, asked.seconds)))


if __name__ == "__main__":
    main()

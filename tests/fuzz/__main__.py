"""Fuzzes a real gateway: `python -m tests.fuzz --requests 10000 --seed 1`. Exits with 1 when an answer was wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from resolute.api.openapi import document
from resolute.api.table import ROUTES
from tests.fuzz import cases
from tests.fuzz.drive import Callers, Driver, Tally

BATCH = 1_000

HELD_MOST_S = 0.1
"""How long one piece of work may hold the event loop of the gateway and the services."""

CALLERS = ("user", "user", "user", "admin", "admin", "admin", "task", "task", "stranger")

LIMIT_BYTES = 2**24

END_S = 20.0
"""How long the cluster under test may take to end."""

LOG = Path(".resolute/fuzz.log")
"""What the cluster under test logs."""


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operation", help="only this one, to look closer")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.requests} requests", flush=True)
    LOG.parent.mkdir(exist_ok=True)
    command = f"exec {sys.executable} -m tests.fuzz.target 2> {LOG}"
    target = await asyncio.create_subprocess_shell(command, stdin=PIPE, stdout=PIPE, limit=LIMIT_BYTES)
    began, tally = time.monotonic(), Tally()
    try:
        await _fuzz(target, asked, tally)
        return _told(tally, await _ask(target, "report"), time.monotonic() - began)
    finally:
        assert target.stdin is not None, "the target listens"
        target.stdin.close()
        try:
            await asyncio.wait_for(target.wait(), END_S)
        except TimeoutError:  # it hangs over what it was asked last, and that is told by what was raised
            target.kill()


async def _fuzz(target: Process, asked: argparse.Namespace, tally: Tally) -> None:
    described, chance = document(ROUTES), Random(asked.seed)
    connector = aiohttp.TCPConnector(limit=0)

    async def renewed() -> Callers:
        return await _ask(target, "callers")

    async def could(case: cases.Case) -> bool:
        named = {"operation": case.operation, "path": dict(case.path), "body": (case.body or b"").decode("latin-1")}
        return bool((await _ask(target, f"could {json.dumps(named)}"))["could"])

    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
        for number in range(0, asked.requests, BATCH):
            there = await _ask(target, "refresh")
            drawn = cases.batch(
                described,
                there["pools"],
                min(BATCH, asked.requests - number),
                asked.seed * 1_000 + number // BATCH,
                asked.operation,
            )
            chance.shuffle(drawn)
            driver = Driver(http, there["base"], there["callers"], renewed, could)
            await driver.send_all([(chance.choice(CALLERS), case) for case in drawn], tally)


async def _ask(target: Process, question: str) -> Mapping[str, Any]:
    assert target.stdin is not None, "the target listens"
    assert target.stdout is not None, "the target answers"
    target.stdin.write(question.encode() + b"\n")
    line = await asyncio.wait_for(target.stdout.readline(), 60)
    if not line:
        raise SystemExit(f"the cluster under test has ended; {LOG} says why")
    answer: Mapping[str, Any] = json.loads(line)
    return answer


def _told(tally: Tally, report: Mapping[str, Any], took_s: float) -> int:
    for failure in tally.failures[:50]:
        print(f"\n{failure.case.operation} as {failure.caller}: {failure.complaint}\n  {failure.curl}")
    print(f"\n{tally.requests} requests in {took_s:.0f} s, the slowest answer after {tally.slowest_s:.2f} s")
    for (caller, status), count in sorted(tally.statuses.items()):
        print(f"  {caller:9} {status or 'given up':8} {count}")
    held_s, cpu_s = report["longest_s"], report["longest_cpu_s"]
    print(f"the event loop was held for at most {held_s * 1000:.0f} ms ({cpu_s * 1000:.0f} ms of a processor)")
    print(f"{len(tally.failures)} answers were wrong")
    return 1 if tally.failures or cpu_s > HELD_MOST_S else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

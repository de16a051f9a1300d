"""From starting a service to its first decision, over a long log whose longest stream is a search of 10,000 trials.

The clock starts with the process and stops when its decision is durable: Python, the connections, the stream's state,
one append. With a snapshot, as every start but a release's first finds one; and without, folded from the first event.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import subprocess
import sys
import time

import uvloop

from bench.figures import Figure, tell
from bench.harness import median
from bench.replay import EVENTS_EACH, life, tell_of
from resolute.bus import MemoryBus
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import EditExperiment
from resolute.proto.message import Cause
from resolute.searcher.shell import Searcher
from resolute.service import Context
from tests.servers import Postgres

SECRET = b"a secret for benches"
CHUNK = 5_000


async def tell_of_one_big(log: PostgresEventLog, trials: int) -> int:
    """A search of `trials` trials, as experiment 1; answers its number of events."""
    version = 0
    events = life(1, trials)
    while chunk := list(itertools.islice(events, CHUNK)):
        await log.append("experiment-1", chunk, expected_version=version, cause=Cause(f"told/{version}"))
        version += len(chunk)
    return version


async def decide(dsn: str, name: str) -> None:
    """What a start comes to: a searcher that has nothing in memory decides on the big experiment."""
    log = await PostgresEventLog.open(dsn)
    searcher = Searcher(Context(log, MemoryBus(), secret=SECRET))
    await searcher.handle(EditExperiment(1, {"name": name}), Cause(f"edit/{name}"))
    await log.close()


def started_s(dsn: str, name: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "bench.startup", "--decide", name, "--dsn", dsn], check=True)
    return time.perf_counter() - began


async def measure(events: int, trials: int, rounds: int) -> list[Figure]:
    postgres = Postgres()
    try:
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        longest = await tell_of_one_big(log, trials)
        await tell_of(log, max(0, events - longest) // EVENTS_EACH, first=2)
        head = await log.head()
        await log.close()
        first = await asyncio.to_thread(started_s, dsn, "first")
        again = [await asyncio.to_thread(started_s, dsn, f"again {n}") for n in range(rounds)]
    finally:
        postgres.close()
    return [
        Figure("events in the log", head, "events"),
        Figure(f"events of its longest stream, {trials:,} trials", longest, "events"),
        Figure("start to first decision, from a snapshot", median(again), "s", 5, at_most=True),
        Figure("start to first decision, from the first event", first, "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="about how many")
    parser.add_argument("--trials", type=int, default=10_000, help="of the longest stream")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--decide", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--dsn", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.decide:
        uvloop.run(decide(options.dsn, options.decide))
    else:
        tell("startup", uvloop.run(measure(options.events, options.trials, options.rounds)))


if __name__ == "__main__":
    main()

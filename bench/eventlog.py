"""Appending to the event log beside bare inserts with asyncpg, in turns, fsync on: `python -m bench.eventlog`."""

from __future__ import annotations

import argparse
import asyncio
import time
from itertools import count
from typing import Any

import asyncpg
import uvloop

from bench.figures import Figure, tell
from bench.harness import in_turns, median, percentile, rate
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import TrialValidated
from resolute.proto.message import Cause
from tests.servers import Postgres

WRITERS = (1, 16, 64)

_BARE_TABLE = "CREATE TABLE bare (position bigint PRIMARY KEY, stream text, version bigint, type text, data jsonb)"
_BARE_ROW = "INSERT INTO bare VALUES ($1, $2, $3, $4, $5)"
_BARE_ROWS = "INSERT INTO bare SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::jsonb[])"
_DATA = '{"trial_id": 1, "run_id": 1, "steps_completed": 100, "metric": 0.25}'

_numbers = count(1)


class Bare:
    """The same rows without a log's promises: no order, no versions, no causes, no chain."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def one_row_a_transaction(self, writers: int, events: int) -> float:
        async def write() -> None:
            async with self._pool.acquire() as connection:
                for version in range(events // writers):
                    row = (next(_numbers), "experiment-1", version, "TrialValidated", _DATA)
                    await connection.execute(_BARE_ROW, *row)

        return await rate(events, _all(write() for _ in range(writers)))

    async def a_hundred_rows_a_transaction(self, writers: int, events: int) -> float:
        async def write() -> None:
            async with self._pool.acquire() as connection:
                for _ in range(max(events // writers // 100, 1)):
                    rows = [(next(_numbers), "experiment-1", i, "TrialValidated", _DATA) for i in range(100)]
                    await connection.execute(_BARE_ROWS, *map(list, zip(*rows, strict=True)))

        return await rate(max(events // writers // 100, 1) * 100 * writers, _all(write() for _ in range(writers)))


class Log:
    def __init__(self, log: PostgresEventLog) -> None:
        self._log = log

    async def append(self, writers: int, events: int, took_s: list[float]) -> float:
        """Each writer appends one event after another to a stream of its own."""

        async def write(stream: str) -> None:
            for version in range(events // writers):
                event = TrialValidated(trial_id=1, run_id=1, steps_completed=version, metric=0.25)
                began = time.perf_counter()
                await self._log.append(stream, [event], expected_version=version, cause=Cause(f"report-{version}"))
                took_s.append(time.perf_counter() - began)

        return await rate(events, _all(write(f"experiment-{next(_numbers)}") for _ in range(writers)))


async def _all(work: Any) -> None:
    await asyncio.gather(*work)


async def compare(bare: Bare, log: Log, writers: int, events: int, rounds: int) -> dict[str, float]:
    took_s: list[float] = []
    figures = await in_turns(
        rounds,
        {
            "appended": lambda: log.append(writers, events, took_s),
            "bare_one_row": lambda: bare.one_row_a_transaction(writers, events),
            "bare_hundreds": lambda: bare.a_hundred_rows_a_transaction(writers, events),
        },
    )
    rates = {f"{name}_per_s": round(median(figure)) for name, figure in figures.items()}
    return {**rates, "p50_ms": round(median(took_s) * 1e3, 3), "p99_ms": round(percentile(took_s, 99) * 1e3, 3)}


async def main(rounds: int) -> None:
    postgres = Postgres()
    try:
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        async with asyncpg.create_pool(dsn, min_size=64, max_size=64) as pool:
            await pool.execute(_BARE_TABLE)
            bare, batched = Bare(pool), Log(log)
            for warming_up in (1, 64):
                await compare(bare, batched, warming_up, 640, rounds=1)
            found = {n: await compare(bare, batched, n, 400 if n == 1 else 6400, rounds) for n in WRITERS}
        await log.close()
    finally:
        postgres.close()
    report(found)


def report(found: dict[int, dict[str, float]]) -> None:
    """Against bare inserts into a table that promises neither order, nor versions, nor causes, nor a chain."""
    figures = []
    for writers, f in found.items():
        who = f"{writers} writer{'s' if writers > 1 else ''}"
        figures += [
            Figure(f"{who}: events appended", f["appended_per_s"], "events/s", bar=20_000 if writers == 64 else None),
            Figure(f"{who}: p50 of an append", f["p50_ms"], "ms", bar=1.0 if writers == 1 else None, at_most=True),
            Figure(f"{who}: p99 of an append", f["p99_ms"], "ms"),
            Figure(f"{who}: bare, one row a transaction", f["bare_one_row_per_s"], "rows/s"),
            Figure(f"{who}: bare, rows in hundreds", f["bare_hundreds_per_s"], "rows/s"),
        ]
    tell("eventlog", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    uvloop.run(main(parser.parse_args().rounds))

"""Charts of a trial that has reported a million times: 1,000 points of its curve, whole and in part.

The reports are put into their store; the gateway then answers CompareTrials, as a browser asks it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import asyncpg
import uvloop

from bench.commands import login
from bench.figures import Figure, tell
from bench.raw_http import load, request
from bench.runs import tell_of_runs
from bench.stage import gateway, servers
from resolute.api.measures.curves import extend_one
from resolute.api.measures.summaries import remake_one
from resolute.eventlog.postgres import PostgresEventLog

TRIAL = 1
NOW = timedelta()

REPORTS = """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
SELECT $1, 1, 'training', steps, jsonb_build_object('loss', 10.0 / steps + random(), 'lr', 0.1, 'accuracy', random()),
    now()
FROM generate_series($2::int, $3::int) steps"""

CHARTS = {
    "the whole curve, one metric": "metricNames=loss",
    "the whole curve, three metrics": "metricNames=loss&metricNames=lr&metricNames=accuracy",
    "a tenth of it, one metric": "metricNames=loss&startBatches={a_third}&endBatches={a_tenth_further}",
}


async def report(dsn: str, reports: int) -> list[Figure]:
    """Put the reports into their store, and keep the summary and the curve of them."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("ALTER TABLE measures.metrics DISABLE TRIGGER summarise")
    await connection.execute(REPORTS, TRIAL, 1, reports, timeout=600)
    await connection.execute("ALTER TABLE measures.metrics ENABLE TRIGGER summarise")
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("INSERT INTO measures.curves (trial_id, kind) VALUES ($1, 'training')", TRIAL)
    await connection.execute("INSERT INTO measures.outdated_summaries (trial_id, kind) VALUES ($1, 'training')", TRIAL)
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
        async with asyncio.timeout(600):
            while not await connection.fetchval("SELECT count(*) FROM measures.summaries"):
                await remake_one(pool)  # the gateway may be making it already
        began = time.perf_counter()
        while await extend_one(pool, rested=NOW):
            pass
    kept_s = time.perf_counter() - began
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return [Figure("reports added to the curve", reports / kept_s, "reports/s")]


async def measure(reports: int, seconds: float) -> list[Figure]:
    with servers() as (postgres, nats):
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        await tell_of_runs(log, 1)
        await log.close()
        with gateway(dsn, nats.url) as served:
            figures = await report(dsn, reports)
            token = await login(served.port)
            for what, query in CHARTS.items():
                bounds = {"a_third": reports // 3, "a_tenth_further": reports // 3 + reports // 10}
                path = f"/api/v1/trials/time-series?trialIds={TRIAL}&group=training&maxDatapoints=1000"
                asked = partial(_asking, f"{path}&{query.format(**bounds)}", token)
                reads = await load("127.0.0.1", served.port, asked, connections=1, seconds=seconds, warm_s=0.5)
                figures.append(Figure(f"{what}, p50", reads.percentile_ms(50), "ms"))
                figures.append(Figure(f"{what}, p95", reads.percentile_ms(95), "ms", 100, at_most=True))
            return figures


def _asking(path: str, token: str, _: int) -> Iterator[bytes]:
    return itertools.repeat(request("GET", path, token))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    asked = parser.parse_args()
    tell("charts", uvloop.run(measure(asked.reports, asked.seconds)))


if __name__ == "__main__":
    main()

"""Metric ingest over REST, durable and idempotent: one gateway process, beside MLflow's tracking server.

Single reports: every client sends one report (three metrics of one step) and waits for its answer. Points: the same
with a hundred metrics in each report, and with the batch route's 1,000 points (100 steps of ten metrics). MLflow gets
single metrics and the same 1,000 points in its own forms (`log-metric`, `log-batch`), from the same client, on the
same Postgres, in the same run.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg
import orjson
import psutil
import uvloop

from bench import mlflow_peer
from bench.figures import Figure, tell
from bench.raw_http import Load, load, request
from bench.stage import Trial, gateway, servers, tell_of_trials
from resolute.eventlog.postgres import PostgresEventLog
from tests.servers import Postgres

BATCH_STEPS, BATCH_METRICS = 100, 10
BATCH_POINTS = BATCH_STEPS * BATCH_METRICS
TIMES_PEER = 15.0
PEER_CLIENTS = 8
"""With 64 at once MLflow's connections to Postgres run out, and it answers with errors."""


def report(trial: Trial, steps: int, metrics: int) -> dict[str, object]:
    """As clients send it."""
    values = {f"metric_{n}": 0.123456 + n / (steps + 1) for n in range(metrics)}
    return {
        "metrics": {
            "trialId": trial.trial_id,
            "trialRunId": 1,
            "stepsCompleted": steps,
            "reportTime": "2026-01-02T03:04:05.678901Z",
            "metrics": {"avgMetrics": values, "batchMetrics": []},
        },
        "group": "training",
    }


def singles(trials: list[Trial], metrics: int, client: int) -> Iterator[bytes]:
    trial = trials[client]
    path, token = f"/api/v1/trials/{trial.trial_id}/metrics", trial.token
    for steps in itertools.count(1):
        yield request("POST", path, token, orjson.dumps(report(trial, steps, metrics)))


def batches(trials: list[Trial], client: int) -> Iterator[bytes]:
    trial = trials[client]
    path, token = f"/api/v1/trials/{trial.trial_id}/metrics/batch", trial.token
    for first in itertools.count(1, BATCH_STEPS):
        reports = [report(trial, steps, BATCH_METRICS) for steps in range(first, first + BATCH_STEPS)]
        yield request("POST", path, token, orjson.dumps({"reports": reports}))


@dataclass(frozen=True, slots=True)
class Measured:
    single: Load
    points: Load
    batch: Load
    cpu_us: float
    """The gateway's processor time for a single report, in microseconds."""


async def resolute(postgres: Postgres, nats_url: str, connections: int, seconds: float) -> Measured:
    dsn = postgres.fresh_database()
    log = await PostgresEventLog.open(dsn)
    trials = await tell_of_trials(log, 3 * connections)
    await log.close()
    few, wide, many = (trials[n * connections :] for n in range(3))
    with gateway(dsn, nats_url) as served:
        at = partial(load, "127.0.0.1", served.port, connections=connections, seconds=seconds)
        process = psutil.Process(served.pid)
        before_s = sum(process.cpu_times()[:2])
        single = await at(partial(singles, few, 3))
        cpu_us = 1e6 * (sum(process.cpu_times()[:2]) - before_s) / single.asked
        points, batch = await at(partial(singles, wide, 100)), await at(partial(batches, many))
    await _check_kept(dsn, [single, points, batch])
    return Measured(single, points, batch, cpu_us)


async def _check_kept(dsn: str, loads: list[Load]) -> None:
    """Asserts that no connection was cut off, and that nothing that was acknowledged is missing."""
    assert not any(one.lost for one in loads), "the gateway closed connections that it should have answered"
    connection = await asyncpg.connect(dsn)
    kept = await connection.fetchval("SELECT count(*) FROM measures.metrics")
    await connection.close()
    single, points, batch = (len(one.latencies_s) for one in loads)
    acknowledged = single + points + BATCH_STEPS * batch
    assert kept >= acknowledged, f"{acknowledged} reports were acknowledged, and {kept} are stored"


async def mlflow(postgres: Postgres, programs: Path, seconds: float) -> tuple[Load, Load]:
    with mlflow_peer.server(programs, postgres.fresh_database()) as (port, _):
        runs = await mlflow_peer.runs(port, 2 * PEER_CLIENTS)
        at = partial(load, "127.0.0.1", port, connections=PEER_CLIENTS, seconds=2 * seconds, warm_s=5.0)
        single = await at(lambda client: mlflow_peer.singles(runs[client]))
        batch = await at(lambda client: mlflow_peer.batches(runs[PEER_CLIENTS + client], BATCH_STEPS, BATCH_METRICS))
    return single, batch


async def measure(connections: int, seconds: float, peer: bool = True) -> list[Figure]:
    with servers() as (postgres, nats):
        found = await resolute(postgres, nats.url, connections, seconds)
        single, points, batch = found.single, found.points, found.batch
        figures = [
            Figure(f"single reports, {connections} clients", single.per_s, "reports/s", 3000),
            Figure("single reports, p50 until durable", single.percentile_ms(50), "ms"),
            Figure("single reports, p99 until durable", single.percentile_ms(99), "ms"),
            Figure("single reports, processor time of the gateway", found.cpu_us, "µs a report"),
            Figure("points, 100 a report", 100 * points.per_s, "points/s", 100_000),
            Figure("points, batch route, 100 steps of 10", BATCH_POINTS * batch.per_s, "points/s", 100_000),
        ]
        programs = mlflow_peer.installed() if peer else None
        if programs is None:
            return figures
        their_single, their_batch = await mlflow(postgres, programs, seconds)
        name = f"MLflow {mlflow_peer.version(programs)}"
        return [
            *figures,
            Figure(f"{name}: log-metric", their_single.per_s, "calls/s"),
            Figure(f"{name}: log-batch of {BATCH_POINTS:,}", BATCH_POINTS * their_batch.per_s, "points/s"),
            Figure("single reports against MLflow's", single.per_s / their_single.per_s, "times", TIMES_PEER),
            Figure("points (batch route) against MLflow's", batch.per_s / their_batch.per_s, "times", TIMES_PEER),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--no-peer", action="store_true", help="leave MLflow out")
    asked = parser.parse_args()
    tell("ingest", uvloop.run(measure(asked.connections, asked.seconds, not asked.no_peer)))


if __name__ == "__main__":
    main()

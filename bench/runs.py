"""Searching runs on a cluster that has seen 10,000 experiments with 100,000 runs: pages with two filters and an order.

Events of the experiments are appended to the log as the services would append them; the reports are put into their
store, and counted into the summaries. One reader asks, as one browser does.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import asyncpg
import uvloop

from bench.commands import ask, login
from bench.figures import Figure, tell
from bench.raw_http import load, request
from bench.stage import CONFIG, YAML, gateway, servers
from resolute.api.measures.summaries import count_new
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import ExperimentCreated, ExperimentEnded, TrialCreated, TrialEnded, TrialValidated
from resolute.proto.message import Cause, Event

RUNS_EACH = 10

REPORTS = """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
SELECT run, 1, kind, steps, jsonb_build_object('loss', random(), 'accuracy', random(), 'f1', random()), now()
FROM generate_series($1::int, $2::int) run, unnest(ARRAY['training', 'validation']) kind,
     unnest(ARRAY[100, 200]) steps"""

REPORTS_AT_ONCE = 5_000


def field(column: str, operator: str, value: Any, type_: str = "COLUMN_TYPE_NUMBER") -> dict[str, Any]:
    return {"kind": "field", "columnName": column, "operator": operator, "value": value, "type": type_}


COMPLETED = field("state", "=", "COMPLETED", "COLUMN_TYPE_TEXT")
RATE = field("hp.learning_rate", ">", 0.5)

SEARCHES: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "runs, newest": ("runs", [], "id=desc"),
    "runs by state and hyperparameter, by metric": ("runs", [COMPLETED, RATE], "validation.loss.min=asc"),
    "runs by state and metric, by another metric": (
        "runs",
        [COMPLETED, field("training.accuracy.last", ">", 0.9)],
        "validation.loss.last=desc",
    ),
    "runs of a few searches, by metric": (
        "runs",
        [COMPLETED, field("experimentId", "<=", 50)],
        "validation.loss.min=asc",
    ),
    "searches by state and best metric, by metric": (
        "experiments-search",
        [COMPLETED, field("searcherMetricsVal", "<", 0.05)],
        "validation.loss.min=asc",
    ),
}


async def tell_of_runs(log: PostgresEventLog, experiments: int) -> None:
    ids = iter(range(1, experiments + 1))

    async def teller() -> None:
        for experiment_id in ids:
            life = list(_life(experiment_id))
            await log.append(f"experiment-{experiment_id}", life, expected_version=0, cause=Cause(f"{experiment_id}"))

    await asyncio.gather(*(teller() for _ in range(32)))


def _life(experiment_id: int) -> Iterator[Event]:
    name, chance = f"experiment {experiment_id}", Random(experiment_id)
    yield ExperimentCreated(experiment_id, f"job-{experiment_id}", name, CONFIG, YAML, 2, "determined", 1, 7)
    for run in range((experiment_id - 1) * RUNS_EACH + 1, experiment_id * RUNS_EACH + 1):
        hparams = {"learning_rate": chance.random(), "layers": run % 8, "optimizer": "adam"}
        yield TrialCreated(run, f"r{run}", f"{run}.task", hparams, run)
        yield TrialValidated(run, 1, 100, chance.random())
        yield TrialEnded(run, "ERROR" if run % 10 == 0 else "COMPLETED", "")
    yield ExperimentEnded("COMPLETED", "")


async def report(dsn: str, runs: int) -> float:
    """Put the reports of all runs into their store; answers how many a second."""
    connection = await asyncpg.connect(dsn)
    began = time.perf_counter()
    for first in range(1, runs + 1, REPORTS_AT_ONCE):
        await connection.execute(REPORTS, first, min(first + REPORTS_AT_ONCE - 1, runs))
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
        while await count_new(pool):
            pass
    per_s = 4 * runs / (time.perf_counter() - began)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return per_s


async def measure(experiments: int, seconds: float) -> list[Figure]:
    with servers() as (postgres, nats):
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        await tell_of_runs(log, experiments)
        await log.close()
        with gateway(dsn, nats.url) as served:
            per_s = await report(dsn, experiments * RUNS_EACH)
            figures = [Figure("reports added to the summaries", per_s, "reports/s")]
            return figures + await _search_all(served.port, experiments * RUNS_EACH, seconds)


async def _search_all(port: int, runs: int, seconds: float) -> list[Figure]:
    token = await login(port)
    found = await ask(port, "POST", "/api/v1/runs", {"limit": -2}, token=token)
    assert found["pagination"]["total"] == runs, found  # type: ignore[index]
    figures = []
    for what, (path, fields, sort) in SEARCHES.items():
        group = {"kind": "group", "conjunction": "and", "children": fields}
        body = {"projectId": 1, "filter": json.dumps({"filterGroup": group}), "sort": sort, "limit": 40}
        asked = partial(_asking, f"/api/v1/{path}", token, json.dumps(body).encode())
        reads = await load("127.0.0.1", port, asked, connections=1, seconds=seconds, warm_s=0.5)
        figures.append(Figure(f"{what}, p50", reads.percentile_ms(50), "ms"))
        figures.append(Figure(f"{what}, p95", reads.percentile_ms(95), "ms", 50, at_most=True))
    return figures


def _asking(path: str, token: str, body: bytes, _: int) -> Iterator[bytes]:
    return itertools.repeat(request("POST", path, token, body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    asked = parser.parse_args()
    tell("runs", uvloop.run(measure(asked.experiments, asked.seconds)))


if __name__ == "__main__":
    main()

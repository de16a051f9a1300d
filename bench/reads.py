"""REST reads on a cluster that has seen 10,000 experiments: lists, filters, detail, metrics, with four readers at once.

Events of the experiments are appended to the log as the services would append them, and the gateway makes its read
model from the log; metrics are put into their store directly. How fast the read model grew is a figure of its own.

With `--rbac` the gateway has `security.authz.type: rbac`, and the readers are a user who holds the role Editor in the
one workspace that has the experiments: each read is limited to what this role shows.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import time
from collections.abc import Iterator
from functools import partial
from random import Random

import asyncpg
import uvloop

from bench.commands import ask, login
from bench.figures import Figure, tell
from bench.raw_http import load, request
from bench.stage import CONFIG, YAML, gateway, servers
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentCreated,
    ExperimentEnded,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialValidated,
)
from resolute.proto.message import Cause, Event

READERS = 4
TRIALS_EACH = 2
STEPS = (100, 200, 300)

METRICS = """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
SELECT trial, 1, kind, steps, jsonb_build_object('loss', 1.0 / steps, 'accuracy', 0.5), now()
FROM generate_series(1, $1) trial, unnest(ARRAY['training', 'validation']) kind,
     generate_series(100, 1000, 100) steps"""

LISTS = {
    "experiments, newest 100": "/api/v1/experiments?sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC&limit=100",
    "experiments, a page of 200": "/api/v1/experiments?limit=200",
    "experiments, a page deep down": "/api/v1/experiments?offset=5000&limit=100",
    "experiments by state and user": "/api/v1/experiments?states=STATE_ERROR&users=determined&limit=50",
    "experiments by name": "/api/v1/experiments?name=experiment%20777&limit=50",
    "experiments by metric": "/api/v1/experiments?sortBy=SORT_BY_SEARCHER_METRIC_VAL&limit=50",
    "experiments by checkpoint size": "/api/v1/experiments?sortBy=SORT_BY_CHECKPOINT_SIZE&limit=50",
    "workspaces": "/api/v1/workspaces",
}
DETAILS = {
    "experiment": "/api/v1/experiments/{experiment}",
    "its trials": "/api/v1/experiments/{experiment}/trials",
    "its checkpoints": "/api/v1/experiments/{experiment}/checkpoints",
    "trial": "/api/v1/trials/{trial}",
    "its workloads": "/api/v1/trials/{trial}/workloads",
    "its metrics": "/api/v1/trials/metrics/trial_metrics?trialIds={trial}",
}


async def tell_of_experiments(log: PostgresEventLog, count: int) -> None:
    """Each with its trials, their validations and checkpoints, and an end."""
    ids = iter(range(1, count + 1))

    async def teller() -> None:
        for experiment_id in ids:
            cause = Cause(f"seed-{experiment_id}")
            life, kept = list(_life(experiment_id)), list(_checkpoints(experiment_id))
            await log.append(f"experiment-{experiment_id}", life, expected_version=0, cause=cause)
            await log.append(f"checkpoints-{experiment_id}", kept, expected_version=0, cause=cause)

    await asyncio.gather(*(teller() for _ in range(32)))


def _life(experiment_id: int) -> Iterator[Event]:
    name = f"experiment {experiment_id}"
    yield ExperimentCreated(experiment_id, f"job-{experiment_id}", name, CONFIG, YAML, 2, "determined", 1, 7)
    yield ExperimentActivated()
    outcome = "ERROR" if experiment_id % 10 == 0 else "COMPLETED"
    chance = Random(experiment_id)
    for trial_id in _trials(experiment_id):
        task_id = f"{trial_id}.task"
        yield TrialCreated(trial_id, f"r{trial_id}", task_id, {"learning_rate": chance.random()}, trial_id)
        yield TrialRunRequested(trial_id, 1, f"{task_id}.1", 1, None, 0)
        for steps in STEPS:
            yield TrialValidated(trial_id, 1, steps, chance.random())
        yield TrialRunEnded(trial_id, 1, "completed", 0, "")
        yield TrialEnded(trial_id, outcome, "")
    yield ExperimentEnded(outcome, "")


def _trials(experiment_id: int) -> range:
    return range((experiment_id - 1) * TRIALS_EACH + 1, experiment_id * TRIALS_EACH + 1)


def _checkpoints(experiment_id: int) -> Iterator[Event]:
    for trial_id in _trials(experiment_id):
        yield CheckpointCompleted(
            uuid=f"00000000-0000-4000-8000-{trial_id:012d}",
            experiment_id=experiment_id,
            trial_id=trial_id,
            task_id=f"{trial_id}.task",
            allocation_id=f"{trial_id}.task.1",
            run_id=1,
            steps_completed=STEPS[-1],
            resources={"state": trial_id, "code/train.py": 100},
            metadata={"steps_completed": STEPS[-1]},
            storage=CONFIG["checkpoint_storage"],
        )


def reading(path: str, token: str, experiments: int, reader: int) -> Iterator[bytes]:
    chance = Random(reader)
    for _ in itertools.count():
        experiment = chance.randint(1, experiments)
        yield request("GET", path.format(experiment=experiment, trial=experiment * TRIALS_EACH), token)


async def measure(experiments: int, seconds: float, *, rbac: bool) -> list[Figure]:
    if rbac:
        os.environ["RESOLUTE_API_AUTHZ"] = '{"type": "rbac"}'
    with servers() as (postgres, nats):
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        await tell_of_experiments(log, experiments)
        events = await log.head()
        await log.close()
        began = time.perf_counter()
        with gateway(dsn, nats.url) as served:
            figures = [Figure("read model grown from the log", events / (time.perf_counter() - began), "events/s")]
            connection = await asyncpg.connect(dsn)
            await connection.execute(METRICS, experiments * TRIALS_EACH)
            await connection.execute("ANALYZE")
            await connection.close()
            token = await (_login_as_editor(served.port) if rbac else login(served.port))
            return figures + await _read_all(served.port, token, experiments, seconds)


async def _login_as_editor(port: int) -> str:
    """The token of a user who may read and change the first workspace, and sees nothing else."""
    admin = await login(port, "admin")
    user = await ask(port, "GET", "/api/v1/users/determined/by-username", token=admin)
    roles = await ask(port, "POST", "/api/v1/roles/search", {"limit": 100}, admin)
    editor = next(role for role in roles["roles"] if role["name"] == "Editor")  # type: ignore[attr-defined]
    held = {"role": {"roleId": editor["roleId"]}, "scopeWorkspaceId": 1}
    assigned = {"userId": user["user"]["id"], "roleAssignment": held}  # type: ignore[index]
    await ask(port, "POST", "/api/v1/roles/add-assignments", {"userRoleAssignments": [assigned]}, admin)
    return await login(port)


async def _read_all(port: int, token: str, experiments: int, seconds: float) -> list[Figure]:
    found = await ask(port, "GET", "/api/v1/experiments?limit=-2", token=token)
    assert found["pagination"]["total"] == experiments, found  # type: ignore[index]
    figures = []
    for what, path in (LISTS | DETAILS).items():
        reads = await load(
            "127.0.0.1",
            port,
            partial(reading, path, token, experiments),
            connections=READERS,
            seconds=seconds,
            warm_s=0.5,
        )
        figures += [
            Figure(f"{what}, p95", reads.percentile_ms(95), "ms", 50, at_most=True),
            Figure(f"{what}, p99", reads.percentile_ms(99), "ms", 200, at_most=True),
        ]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rbac", action="store_true", help="read as a user with one role in one workspace")
    asked = parser.parse_args()
    figures = uvloop.run(measure(asked.experiments, asked.seconds, rbac=asked.rbac))
    tell("reads_with_rbac" if asked.rbac else "reads", figures)


if __name__ == "__main__":
    main()

"""Growing the tables that answers come from out of a long log: how fast, and what a client is answered meanwhile.

The log tells of searches as a cluster writes them: experiments with 16 trials each that report ten validations and
checkpoints, with the allocations they ran in. A gateway of the version before goes on answering throughout.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator

import uvloop

from bench.figures import Figure, tell
from bench.harness import median
from bench.replay import REPORTS_EACH, TRIALS_EACH, life
from bench.stage import Trial, allocation_of
from resolute.api.kernel.growth import grow
from resolute.api.settings import ApiSettings
from resolute.api.shell import connect
from resolute.api.slices import read_model
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.experiment import TrialEnded, TrialRunEnded
from resolute.proto.message import Cause, Event
from resolute.proto.pool import AllocationExited, AllocationStarted, Placement, ResourcesStarted, SlotsAssigned
from tests.servers import Postgres

SHELF_S = {"type": "shared_fs", "host_path": "/checkpoints"}


def trials_of(experiment_id: int) -> list[Trial]:
    ids = range(experiment_id * TRIALS_EACH, (experiment_id + 1) * TRIALS_EACH)
    return [Trial(trial_id, f"{trial_id}.task", f"{trial_id}.task.1") for trial_id in ids]


def placed(experiment_id: int) -> Iterator[Event]:
    """What the pool says of the experiment's trials."""
    for trial in trials_of(experiment_id):
        resources_id = f"00000000-0000-4000-8000-{trial.trial_id:012}"
        yield allocation_of(trial, experiment_id)
        yield SlotsAssigned(trial.allocation_id, (Placement(resources_id, "agent-1", (0,)),), "a slot was free", "fifo")
        yield ResourcesStarted(trial.allocation_id, resources_id, "10.0.0.1")
        yield AllocationStarted(trial.allocation_id)
        yield AllocationExited(trial.allocation_id, "exited", 0, "", trial.task_id, experiment_id, trial.trial_id)


def kept(experiment_id: int) -> Iterator[Event]:
    """The experiment's checkpoints."""
    for steps, trial in itertools.product(range(100, 100 * REPORTS_EACH + 1, 100), trials_of(experiment_id)):
        uuid = f"00000000-0000-4000-8000-{trial.trial_id:06}{steps:06}"
        files, metadata = {"model.pt": 4096, "metadata.json": 100}, {"steps_completed": steps}
        yield CheckpointCompleted(
            uuid, experiment_id, trial.trial_id, trial.task_id, trial.allocation_id, 1, steps, files, metadata, SHELF_S
        )


def ended(experiment_id: int) -> Iterator[Event]:
    for trial in trials_of(experiment_id):
        yield TrialRunEnded(trial.trial_id, 1, "completed", 0, "")
        yield TrialEnded(trial.trial_id, "COMPLETED", "")


EVENTS_EACH = sum(len(list(part(1))) for part in (life, placed, kept, ended))


async def tell_of_searches(log: PostgresEventLog, experiments: int) -> None:
    """Each experiment's events in slices of the three streams, as they come when they happen side by side."""
    pool_version = 0
    for experiment_id in range(1, experiments + 1):
        cause = Cause(f"told-{experiment_id}")
        story = [*life(experiment_id), *ended(experiment_id)]
        pool, shelf = list(placed(experiment_id)), list(kept(experiment_id))
        await log.append(f"experiment-{experiment_id}", story, expected_version=0, cause=cause)
        await log.append("pool-default", pool, expected_version=pool_version, cause=cause)
        await log.append(f"checkpoints-{experiment_id}", shelf, expected_version=0, cause=cause)
        pool_version += len(pool)


async def grown_s(dsn: str, log: PostgresEventLog) -> float:
    """How long growing all of it anew takes."""
    pool = await connect(ApiSettings(database_url=dsn))
    read = read_model(pool, log)
    await read.drop()
    began = time.perf_counter()
    await read.prepare()
    await grow(read)
    took = time.perf_counter() - began
    await pool.close()
    return took


async def measure(events: int, rounds: int) -> list[Figure]:
    postgres = Postgres()
    try:
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        await tell_of_searches(log, max(1, events // EVENTS_EACH))
        head = await log.head()
        took = [await grown_s(dsn, log) for _ in range(rounds)]
        await log.close()
    finally:
        postgres.close()
    return [
        Figure("events in the log", head, "events"),
        Figure("read model grown from the log", head / median(took), "events/s", 20_000),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="about how many")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tell("growth", uvloop.run(measure(options.events, options.rounds)))


if __name__ == "__main__":
    main()

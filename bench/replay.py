"""Replaying the log: read, decoded and folded by the services that own its streams, as a start from nothing does it.

The story is that of searches: experiments with 16 trials each that report ten validations and checkpoints, and the
allocations they ran in, all in the order of commit. Every stream is folded with its owner's own `evolve`.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

import uvloop

from bench.figures import Figure, tell
from bench.harness import in_turns, median
from bench.stage import CONFIG
from resolute.eventlog.chain import Head, follow
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentCreated,
    TrialCheckpointed,
    TrialCreated,
    TrialRunRequested,
    TrialRunStarted,
    TrialValidated,
)
from resolute.proto.message import Cause, Event
from resolute.search import experiment
from tests.servers import Postgres

TRIALS_EACH, REPORTS_EACH = 16, 10
EVENTS_EACH = 2 + TRIALS_EACH * (3 + 2 * REPORTS_EACH)
BATCH = 2000


def life(experiment_id: int, trials: int = TRIALS_EACH) -> Iterator[Event]:
    chance = Random(experiment_id)
    name = f"experiment {experiment_id}"
    yield ExperimentCreated(experiment_id, f"job-{experiment_id}", name, CONFIG, str(CONFIG), 2, "determined", 1, 7)
    yield ExperimentActivated()
    for n in range(trials):
        trial_id = experiment_id * trials + n
        task_id = f"{trial_id}.task"
        yield TrialCreated(trial_id, f"r{n}", task_id, {"learning_rate": chance.random()}, trial_id)
        yield TrialRunRequested(trial_id, 1, f"{task_id}.1", 1, None, 0)
        yield TrialRunStarted(trial_id, 1)
    for steps in range(100, 100 * REPORTS_EACH + 1, 100):
        for n in range(trials):
            trial_id = experiment_id * trials + n
            yield TrialValidated(trial_id, 1, steps, chance.random())
            yield TrialCheckpointed(trial_id, 1, f"00000000-0000-4000-8000-{trial_id:06}{steps:06}", steps)


async def tell_of(log: PostgresEventLog, experiments: int, first: int = 1) -> None:
    ids = iter(range(first, first + experiments))

    async def teller() -> None:
        for experiment_id in ids:
            events = list(life(experiment_id))
            await log.append(f"experiment-{experiment_id}", events, expected_version=0, cause=Cause("told"))

    await asyncio.gather(*(teller() for _ in range(4)))


async def decoded(log: PostgresEventLog) -> int:
    """Read and decode everything; answers how many events there were."""
    position = 0
    while events := await log.read_all(position, BATCH):
        position = events[-1].position
    return position


async def folded(log: PostgresEventLog) -> int:
    position = 0
    states: dict[str, experiment.Experiment] = {}
    while events := await log.read_all(position, BATCH):
        for recorded in events:
            state = states.get(recorded.stream) or experiment.Experiment()
            states[recorded.stream] = experiment.evolve(state, recorded.event)
        position = events[-1].position
    return position


async def verified(log: PostgresEventLog) -> int:
    heads: dict[str, Head] = {}
    position = 0
    async for rows in log.rows(batch=BATCH):
        assert follow(rows, heads, position) is None
        position = rows[-1].position
    return position


def rate_of(replay: Callable[[PostgresEventLog], Awaitable[int]], log: PostgresEventLog) -> Callable[[], Any]:
    async def measure() -> float:
        began = time.perf_counter()
        return await replay(log) / (time.perf_counter() - began)

    return measure


async def main(events: int, rounds: int) -> None:
    postgres = Postgres()
    try:
        log = await PostgresEventLog.open(postgres.fresh_database())
        began = time.perf_counter()
        await tell_of(log, events // EVENTS_EACH)
        written_per_s = await log.head() / (time.perf_counter() - began)
        kinds = {"decoded": decoded, "folded": folded, "verified": verified}
        figures = await in_turns(rounds, {name: rate_of(replay, log) for name, replay in kinds.items()})
        head = await log.head()
        await log.close()
    finally:
        postgres.close()
    tell(
        "replay",
        [
            Figure("events in the log", head, "events"),
            Figure("written, an experiment's life an append", written_per_s, "events/s"),
            Figure("read and decoded", median(figures["decoded"]), "events/s"),
            Figure("read, decoded and folded", median(figures["folded"]), "events/s", bar=50_000),
            Figure("hash chain verified", median(figures["verified"]), "events/s"),
        ],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="about how many")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    uvloop.run(main(options.events, options.rounds))

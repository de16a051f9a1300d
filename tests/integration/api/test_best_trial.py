"""Which trial is the best: whatever is reported again, and in whatever batches the read model grew."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from resolute.api.kernel.growth import grow
from resolute.proto.experiment import ExperimentCreated, TrialCreated, TrialRunRequested, TrialValidated
from resolute.proto.message import Event
from tests.integration.api.running import Client, Running, running

STREAM = "experiment-1"


async def created(cluster: Running, *, smaller_is_better: bool = True) -> None:
    config = {"searcher": {"name": "random", "metric": "m", "smaller_is_better": smaller_is_better}}
    await cluster.tell(STREAM, ExperimentCreated(1, "job-1", "digits", config, "", 2, "determined", 1, 7))


def trial(trial_id: int) -> list[Event]:
    task_id = f"1.{trial_id}"
    made = TrialCreated(trial_id, f"r{trial_id}", task_id, {"lr": 0.1}, trial_id)
    return [made, TrialRunRequested(trial_id, 1, f"{task_id}.1", 1, None, 0)]


async def best(someone: Client) -> tuple[Any, Any]:
    experiment = (await someone.get("/api/v1/experiments/1"))["experiment"]
    return experiment.get("bestTrialId"), experiment.get("bestTrialSearcherMetric")


async def grow_again(cluster: Running) -> None:
    read = cluster.gateway.read
    await read.drop()
    await read.prepare()
    await grow(read)


async def test_a_trial_whose_best_is_lowered_by_a_repeated_run_gives_way(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        await created(cluster)
        someone = await cluster.nobody.login("determined")
        await cluster.tell(STREAM, *trial(11), *trial(12), TrialValidated(11, 1, 10, 0.5))
        await cluster.tell(STREAM, TrialValidated(12, 1, 10, 0.1), TrialValidated(12, 1, 20, 0.7))
        assert await best(someone) == (12, 0.1)
        await cluster.tell(STREAM, TrialValidated(12, 2, 10, 0.6))
        assert await best(someone) == (11, 0.5)
        await cluster.tell(STREAM, TrialValidated(11, 2, 10, None))
        assert await best(someone) == (12, 0.6)
        await cluster.tell(STREAM, TrialValidated(12, 2, 10, None), TrialValidated(12, 2, 20, None))
        assert await best(someone) == (None, None)


@pytest.mark.parametrize("seed", range(3))
async def test_the_best_is_the_best_of_what_counts_however_the_tables_grew(postgres_dsn: str, seed: int) -> None:
    chance = Random(seed)
    async with running(postgres_dsn) as cluster:
        await created(cluster)
        someone = await cluster.nobody.login("determined")
        counts: dict[tuple[int, int], float | None] = {}
        await cluster.tell(STREAM, *(event for trial_id in range(11, 15) for event in trial(trial_id)))
        for _ in range(25):
            reports = []
            for _ in range(chance.randint(1, 6)):
                place, metric = (chance.randint(11, 14), chance.randint(1, 3)), chance.choice([None, 1.0, 2.0, 3.0])
                counts[place] = metric
                reports.append(TrialValidated(place[0], 1, place[1], metric))
            await cluster.tell(STREAM, *reports)
            ranked = sorted((metric, at[0]) for at, metric in counts.items() if metric is not None)
            expected = (ranked[0][1], ranked[0][0]) if ranked else (None, None)
            assert await best(someone) == expected
        await grow_again(cluster)
        assert await best(someone) == expected


async def test_a_number_that_is_none_is_never_the_best(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        await created(cluster, smaller_is_better=False)
        someone = await cluster.nobody.login("determined")
        await cluster.tell(STREAM, *trial(11), *trial(12), TrialValidated(11, 1, 10, 0.5))
        await cluster.tell(STREAM, TrialValidated(12, 1, 10, float("nan")), TrialValidated(12, 1, 20, 0.6))
        assert await best(someone) == (12, 0.6)
        await cluster.tell(STREAM, TrialValidated(12, 2, 20, 0.1))
        assert await best(someone) == (11, 0.5)

"""Stories told by a seed: what is submitted, what people wish for, and what fate has in store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import structlog

from resolute.proto.experiment import (
    ActivateExperiment,
    CancelExperiment,
    DeleteExperiment,
    EditExperiment,
    KillExperiment,
    KillTrial,
    PauseExperiment,
)
from resolute.proto.message import Recorded
from resolute.searcher.experiment import Experiment
from tests.simulation import clock
from tests.simulation.cluster import SimulatedCluster, search
from tests.simulation.training import Temper

PATIENCE_S = 7200
"""On the made-up clock: whatever happened, by then everything has ended."""


@dataclass(frozen=True)
class Ended:
    """How a story ended."""

    outcomes: dict[int, str]
    events: list[Recorded]
    took_s: float


def tell(seed: int, *, loud: bool = False) -> Ended:
    """Raises AssertionError when a promise is broken, TimeoutError when something never ends."""
    with voice(loud):
        return clock.run(lambda: _story(seed), seed)


async def _story(seed: int) -> Ended:
    rng = Random(f"story/{seed}")
    agents, slots = rng.randint(1, 3), rng.randint(1, 2)
    async with _a_cluster(seed, rng, agents, slots) as cluster:
        wanted = [_an_experiment(rng, agents, slots) for _ in range(rng.choice([1, 1, 2]))]
        ids = [await cluster.submit(config, rng.randrange(1000)) for config in wanted]
        for _ in range(rng.randrange(12)):
            _a_blow_of_fate(cluster, rng)
        for _ in range(rng.randrange(4)):
            _a_wish(cluster, rng, ids)
        await cluster.until(lambda: cluster.quiet, PATIENCE_S)
        for experiment_id in ids:
            await cluster.wish(ActivateExperiment(experiment_id))
        await cluster.until(lambda: all(map(cluster.outcome, ids)), PATIENCE_S)
        await cluster.settle()
        await cluster.check_promises()
        await _delete_one(cluster, rng, ids)
        outcomes = {experiment_id: cluster.outcome(experiment_id) or "" for experiment_id in ids}
        return Ended(outcomes, list(cluster.log.story), clock.elapsed_s())


def _a_cluster(seed: int, rng: Random, agents: int, slots: int) -> SimulatedCluster:
    stormy = rng.random() < 0.7
    temper = Temper(
        fail=rng.choice([0.0, 0.0, 0.02, 0.1]),
        invalid=rng.choice([0.0, 0.0, 0.2]),
        stubborn=rng.choice([0.0, 0.0, 0.3]),
        unit_s=rng.choice([0.5, 2.0, 5.0]),
    )
    return SimulatedCluster(
        seed,
        agents=agents,
        slots_per_agent=slots,
        lose=rng.choice([0.0, 0.05]) if stormy else 0.0,
        repeat=rng.choice([0.0, 0.05]) if stormy else 0.0,
        delay_s=rng.choice([0.001, 0.01, 0.1]),
        replicas=rng.choice([1, 1, 2]),
        preemption=rng.random() < 0.5,
        temper=temper,
    )


def _an_experiment(rng: Random, agents: int, slots: int) -> dict[str, object]:
    share = {"slots": rng.choice([0, 1, 1, slots, agents * slots]), "priority": rng.choice([10, 42, 42, 90])}
    if rng.random() < 0.25:
        return search("single", **share)
    return search("random", max_trials=rng.randint(1, 8), max_concurrent_trials=rng.randint(0, 4), **share)


def _a_blow_of_fate(cluster: SimulatedCluster, rng: Random) -> None:
    when = {"after_s": rng.uniform(0, 60), "for_s": rng.choice([0.1, 1.0, 5.0])}
    services = [name for name in cluster.processes if name not in cluster.hosts]
    host = rng.choice(sorted(cluster.hosts))
    match rng.randrange(11):
        case 0:
            cluster.lose_bus(**when)
        case 1:
            cluster.lose_log(**when)
        case 2:
            cluster.cut_power(host, after_s=when["after_s"], for_s=rng.choice([1.0, 40.0]))
        case 3:
            cluster.isolate(host, after_s=when["after_s"])
        case 4:
            cluster.crash(host, **when)
        case 5 | 6 | 7:
            cluster.crash_at(rng.choice(sorted(services)), rng.randrange(1, 300), for_s=when["for_s"])
        case _:
            cluster.crash(rng.choice(sorted(services)), **when)


def _a_wish(cluster: SimulatedCluster, rng: Random, ids: list[int]) -> None:
    about, at = rng.choice(ids), rng.uniform(0, 60)
    match rng.randrange(7):
        case 0 | 1:
            cluster.later(PauseExperiment(about), at)
            cluster.later(ActivateExperiment(about), at + rng.uniform(0, 20))
        case 2:
            cluster.later(EditExperiment(about, {"priority": rng.randint(1, 99), "max_restarts": 5}), at)
        case 3:
            cluster.later(KillTrial(about, rng.randint(1, 8)), at)
        case 4:
            cluster.later(CancelExperiment(about), at)
        case 5:
            cluster.delete_a_checkpoint(about, at)
        case 6:
            cluster.later(KillExperiment(about), at)


async def _delete_one(cluster: SimulatedCluster, rng: Random, ids: list[int]) -> None:
    """In the end even its files go."""
    if rng.random() < 0.5:
        return
    about = ids[0]
    await cluster.ask(DeleteExperiment(about))
    await cluster.until(lambda: state_of(cluster, about).state.name == "DELETED", PATIENCE_S)
    cluster.check_promises_of_the_dead(about)


def state_of(cluster: SimulatedCluster, experiment_id: int) -> Experiment:
    from tests.simulation.promises import fold_experiment

    return fold_experiment(cluster.log.streams[f"experiment-{experiment_id}"])


@contextmanager
def voice(loud: bool) -> Iterator[None]:
    """Services say much in a storm; a seed that failed is told again, loudly."""
    before = structlog.get_config()
    level = logging.DEBUG if loud else logging.CRITICAL
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    try:
        yield
    finally:
        structlog.configure(**before)

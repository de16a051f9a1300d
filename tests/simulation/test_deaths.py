"""One small search, and a death at every place in it: of each service, of the agent, of the host, of the bus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from resolute.proto.experiment import (
    ActivateExperiment,
    PauseExperiment,
    TrialCheckpointed,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
)
from resolute.proto.message import Recorded
from tests.simulation import clock
from tests.simulation.cluster import Setup, SimulatedCluster, search
from tests.simulation.faults import BusForgets, Crash, CrashAtEvent, CrashAtStep, DatabaseRestarts, Fault, PowerCut
from tests.simulation.promises import of
from tests.simulation.stories import voice
from tests.simulation.training import Temper

SEED = 7
EVENTS = 90
"""About how many a small search leaves in the log."""

Fate = Callable[[SimulatedCluster], None]
SMALL = Setup(hosts=(("default", 1), ("default", 1)), temper=Temper(unit_s=0.2))


def small_search(fate: Fate | Fault, *, slots: int = 1) -> SimulatedCluster:
    """Three trials on two slots, to their end; answers the cluster as it was then."""

    async def story() -> SimulatedCluster:
        async with SimulatedCluster(SEED, SMALL) as cluster:
            if callable(fate):
                fate(cluster)
            else:
                cluster.strike(fate)
            experiment = await cluster.submit(search(max_trials=3, max_concurrent_trials=2, slots=slots))
            await cluster.until(lambda: cluster.outcome(experiment) is not None, within_s=3600)
            assert cluster.outcome(experiment) == "COMPLETED"
            await cluster.settle()
            await cluster.check_promises()
            return cluster

    with voice(loud=False):
        return clock.run(story, SEED)


def told(cluster: SimulatedCluster) -> list[Recorded]:
    """Of the experiment. A searcher that dies while it creates one may have used up the first number."""
    streams = cluster.log.streams
    return next(events for name, events in streams.items() if name.startswith("experiment-") and events)


def trials(cluster: SimulatedCluster) -> list[TrialEnded]:
    return of(told(cluster), TrialEnded)


def runs(cluster: SimulatedCluster) -> list[TrialRunEnded]:
    return of(told(cluster), TrialRunEnded)


@pytest.mark.parametrize("event", range(1, EVENTS, 6))
@pytest.mark.parametrize("name", ["searcher-0", "scheduler-0", "checkpoint-0", "relay-0", "gateway-0"])
def test_a_service_that_is_killed_anywhere_costs_no_trial_and_no_run(name: str, event: int) -> None:
    cluster = small_search(CrashAtEvent(name, event, moment_s=0.02))
    assert [end.outcome for end in trials(cluster)] == ["COMPLETED"] * 3
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


@pytest.mark.parametrize("step", [*range(1, 30, 3), *range(30, 400, 37)])
@pytest.mark.parametrize("name", ["searcher-0", "scheduler-0", "checkpoint-0", "relay-0", "gateway-0"])
def test_nor_does_one_that_is_killed_at_any_of_its_dealings_with_log_and_bus(name: str, step: int) -> None:
    cluster = small_search(CrashAtStep(name, step))
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


@pytest.mark.parametrize("after_s", [0.5, 1.0, 1.5, 2.0, 2.5])
def test_an_agent_that_restarts_finds_its_trials_again(after_s: float) -> None:
    cluster = small_search(Crash("host-0", after_s))
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


@pytest.mark.parametrize("after_s", [0.5, 1.0, 1.5, 2.0, 2.5])
def test_a_trial_whose_host_dies_goes_on_elsewhere_from_its_last_checkpoint(after_s: float) -> None:
    cluster = small_search(PowerCut("host-0", after_s, for_s=60))
    assert [end.outcome for end in trials(cluster)] == ["COMPLETED"] * 3
    history = cluster.log.streams["experiment-1"]
    for again in (run for run in of(history, TrialRunRequested) if run.run_id > 1):
        saved = [
            c.steps_completed for c in of(history, TrialCheckpointed) if c.trial_id == again.trial_id and c.run_id == 1
        ]
        assert again.steps_completed == max(saved, default=0)


@pytest.mark.parametrize("after_s", [0.1, 0.5, 1.0, 2.0])
def test_a_bus_that_forgets_everything_is_not_missed(after_s: float) -> None:
    cluster = small_search(BusForgets(after_s, for_s=3.0))
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


@pytest.mark.parametrize("after_s", [0.1, 0.5, 1.0, 2.0])
def test_a_database_that_restarts_is_waited_for(after_s: float) -> None:
    cluster = small_search(DatabaseRestarts(after_s, for_s=3.0))
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


def test_a_gang_has_both_hosts_or_waits() -> None:
    cluster = small_search(Crash("host-1", 0.5), slots=2)
    assert [run.outcome for run in runs(cluster)] == ["completed"] * 3


@pytest.mark.parametrize("pause_after_s", [1.2, 1.9, 2.4])
def test_a_paused_search_goes_on_where_it_was(pause_after_s: float) -> None:
    def fate(cluster: SimulatedCluster) -> None:
        cluster.later(pause_after_s, PauseExperiment(1), ActivateExperiment(1), pauses_s=(30.0,))

    cluster = small_search(fate)
    assert {run.outcome for run in runs(cluster)} == {"completed", "yielded"}
    assert any(run.steps_completed > 0 for run in of(cluster.log.streams["experiment-1"], TrialRunRequested))

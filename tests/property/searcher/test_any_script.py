"""Whatever is asked and reported, in whatever order: an experiment keeps its promises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.proto.experiment import (
    ExperimentContinued,
    ExperimentEnded,
    TrialContinued,
    TrialCreated,
    TrialEarlyExitReported,
    TrialRunEnded,
    TrialRunRequested,
    TrialStopRequested,
)
from resolute.proto.states import RUNNING, STOPPING, TrialState
from resolute.search import concurrency, methods
from resolute.search.experiment import Experiment, evolve
from tests.property.searcher.walks import PickySearch, Walk, ended_trials

SCRIPTS = st.lists(st.integers(0, 9999), max_size=60)
patiently = settings(deadline=None)  # a busy machine is no counterexample
SEARCHES = st.sampled_from(["single", "random", "picky", "custom", "async_halving", "adaptive_asha"])


@pytest.fixture(autouse=True, scope="module")
def picky() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", {**methods.METHODS, "picky": PickySearch})
        yield


def walked(search: str, script: list[int], activate: bool = True) -> Walk:
    walk = Walk(search, activate)
    for choice in script:
        walk.take(choice)
    return walk


@patiently
@given(SEARCHES, SCRIPTS)
def test_a_trial_never_has_two_runs_at_once_and_every_run_ends_once(search: str, script: list[int]) -> None:
    live: dict[int, int] = {}
    for event in walked(search, script).events:
        match event:
            case TrialRunRequested():
                assert event.trial_id not in live
                live[event.trial_id] = event.run_id
            case TrialRunEnded():
                assert live.pop(event.trial_id) == event.run_id


@patiently
@given(SEARCHES, SCRIPTS, st.booleans())
def test_everything_ends_once_and_once_more_each_time_it_is_continued(
    search: str, script: list[int], activate: bool
) -> None:
    walk = walked(search, script, activate)
    walk.finish()
    again = [event.trial_id for event in walk.events if isinstance(event, TrialContinued)]
    assert sorted(ended_trials(walk.events)) == sorted([*walk.experiment.trials, *again])
    chapters = 1 + sum(isinstance(event, ExperimentContinued) for event in walk.events)
    assert sum(isinstance(event, ExperimentEnded) for event in walk.events) == chapters


@patiently
@given(SCRIPTS)
def test_a_search_makes_no_more_trials_than_it_may(script: list[int]) -> None:
    walk = walked("random", script)
    invalid = {e.trial_id for e in walk.events if isinstance(e, TrialEarlyExitReported) and e.reason == "INVALID_HP"}
    created = [event for event in walk.events if isinstance(event, TrialCreated)]
    assert len(created) <= 4 + len(invalid)
    assert sum(one.allocation_id is not None for one in walk.experiment.open.values()) <= 2
    assert len({event.request_id for event in created}) == len(created)


@patiently
@given(SEARCHES, SCRIPTS)
def test_an_experiment_is_over_exactly_when_nothing_of_it_is_open(search: str, script: list[int]) -> None:
    walk = walked(search, script)
    goes_on = walk.experiment.state in (*RUNNING, *STOPPING)
    assert goes_on if walk.experiment.open else not goes_on or search == "custom"  # whose client may be thinking


@patiently
@given(SEARCHES, SCRIPTS)
def test_an_active_experiment_leaves_no_trial_idle(search: str, script: list[int]) -> None:
    walk = walked(search, script)
    told_to_close = {e.trial_id for e in walk.events if isinstance(e, TrialStopRequested) and not e.allocation_id}
    for one in walk.experiment.open.values():
        if walk.experiment.state.name == "ACTIVE":
            waits = one.state is TrialState.WAITING
            waits |= one.trial_id in walk.experiment.queue and concurrency.free_places(walk.experiment) == 0
            waits |= one.target is not None and one.has_covered(one.target, walk.experiment.settings)  # and hears of it
            assert one.allocation_id is not None or one.trial_id in told_to_close or waits


@patiently
@given(SEARCHES, SCRIPTS)
def test_replaying_the_log_gives_the_same_state_and_the_same_decisions(search: str, script: list[int]) -> None:
    walk, again = walked(search, script), walked(search, script)
    assert again.events == walk.events
    replayed: Experiment = reduce(evolve, walk.events, Experiment())
    assert telling(replayed) == telling(walk.experiment)
    before = len(walk.events)
    walk.take(len(script))
    again.experiment = replayed
    again.take(len(script))
    assert walk.events[before:] == again.events[before:]


def telling(experiment: Experiment) -> dict[str, object]:
    """Everything the state says of itself, the method's mind included."""
    shown = {name: getattr(experiment, name) for name in Experiment.__slots__ if name != "_method"}
    return {**shown, "method": mind(experiment.method)}


def mind(method: Any) -> Any:
    """What a method remembers, its parts' memories included."""
    if isinstance(method, list):
        return [mind(value) for value in method]
    own = hasattr(method, "__dict__")  # as methods have, and their parts; values compare by themselves
    return {name: mind(value) for name, value in vars(method).items()} if own else method

"""Whatever a search is made of, and whatever its programs do: it ends, with as many trials as were asked for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.proto.experiment import TrialCreated, TrialEarlyExitReported, TrialRunRequested
from tests.property.searcher.programs import Playing


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32))
def test_every_search_ends_with_as_many_trials_as_were_asked_for(seed: int) -> None:
    playing = Playing(seed)
    playing.to_the_end()
    experiment, searcher = playing.experiment, playing.experiment.settings.searcher
    assert not experiment.open
    created = sum(isinstance(event, TrialCreated) for event in playing.events)
    invalid = sum(isinstance(event, TrialEarlyExitReported) for event in playing.events)
    if searcher.name in ("random", "async_halving", "adaptive_asha"):
        assert created <= searcher.max_trials + invalid
        assert created >= searcher.max_trials or playing.killed_trials
    runs = [(event.trial_id, event.run_id) for event in playing.events if isinstance(event, TrialRunRequested)]
    assert len(set(runs)) == len(runs)

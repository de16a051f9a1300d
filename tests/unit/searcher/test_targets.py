"""Targets: how far a trial is told to train, how it is known to have got there, and what it does in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from resolute.proto.errors import Refused
from resolute.proto.experiment import (
    ActivateExperiment,
    CancelExperiment,
    CompleteOperation,
    ExperimentEnded,
    ExperimentStopping,
    KillTrial,
    PauseExperiment,
    ReportValidation,
    SearchProgressed,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.states import TrialState as State
from resolute.search.methods.method import Report
from resolute.search.reports import CoverTarget
from resolute.searcher.reactions import describe
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given


def validation(trial_id: int, steps: int, metric: float | None, run_id: int = 1) -> ReportValidation:
    return ReportValidation(EXPERIMENT, trial_id, run_id, steps, metric)


def completion(trial_id: int, length: int, metric: float | None, run_id: int = 1) -> CompleteOperation:
    return CompleteOperation(EXPERIMENT, trial_id, run_id, length, metric)


def targets(story: Story) -> list[tuple[int, int]]:
    """Further ones, which the latest message led to."""
    return [(e.trial_id, e.length) for e in story.last if isinstance(e, TrialTargetSet) and e.why]


def without_notes(story: Story) -> Story:
    """The story's last events without what a halving search notes for itself: its progress and its decisions."""
    events = (event for event in story.last if not isinstance(event, SearchProgressed))
    return replace(
        story, last=tuple(replace(event, decided=None) if isinstance(event, Report) else event for event in events)
    )


def halving(**changes: Any) -> Story:
    """Rungs at 25, 50 and 100 batches; two trials at a time, of which every second may train on."""
    searcher = {"num_rungs": 3, "divisor": 2, "max_trials": 4, "max_concurrent_trials": 2}
    story = given(created("async_halving", **{**searcher, **changes}))
    return story.starts(1).starts(2)


# ---------------------------------------------------------------- setting and reaching


def test_a_trial_of_a_search_by_length_is_told_how_far_to_train() -> None:
    (target,) = [event for event in created() if isinstance(event, TrialTargetSet)]
    assert target == TrialTargetSet(1, 100)
    story = given(created())
    spec = describe(story.experiment, 1, story.allocation(1))
    assert (spec.target, spec.target_reached) == (100, False)


def test_a_search_without_a_length_sets_no_targets() -> None:
    assert not [event for event in created(max_length=None) if isinstance(event, TrialTargetSet)]
    story = given(created(max_length=None)).starts(1)
    story.then_refused(completion(1, 5, 0.5), Refused, "trial 1 was set no length to train to; report validations")


def test_a_validation_at_the_target_says_that_it_is_reached() -> None:
    story = given(created()).starts(1).when(validation(1, 99, 0.5)).then(TrialValidated(1, 1, 99, 0.5))
    story = story.when(validation(1, 100, 0.4)).then(TrialValidated(1, 1, 100, 0.4), TrialTargetReached(1, 1, 100, 0.4))
    story.when(completion(1, 100, 0.4)).then()


def test_a_trial_may_say_itself_that_it_has_reached_its_target() -> None:
    story = given(created()).starts(1).when(completion(1, 100, 0.5)).then(TrialTargetReached(1, 1, 100, 0.5))
    story.when(completion(1, 100, 0.5)).then()
    story = story.when(validation(1, 100, 0.5)).then(TrialValidated(1, 1, 100, 0.5))
    spec = describe(story.experiment, 1, story.allocation(1))
    assert (spec.target, spec.target_reached) == (100, True)


def test_a_length_beyond_the_target_is_refused_with_the_target() -> None:
    story = given(created()).starts(1)
    story.then_refused(completion(1, 101, 0.5), Refused, "trial 1 cannot complete length 101: its target is 100")


def test_news_of_an_older_run_or_of_an_older_target_changes_nothing() -> None:
    story = halving().when(validation(1, 25, 0.5)).when(validation(2, 25, 0.4))
    assert story.experiment.trial(2).target == 50
    story.when(completion(2, 25, 0.4)).then()
    story.exits(2, "lost", None).when(completion(2, 50, 0.4)).then()


@pytest.mark.parametrize(
    ("max_length", "steps"),
    [({"records": 3200}, 100), ({"epochs": 2}, 62), ({"records": 1}, 1), ({"batches": 7}, 7)],
)
def test_lengths_in_records_and_epochs_are_counted_in_batches(max_length: dict[str, int], steps: int) -> None:
    events = created(max_length=max_length)
    merged = {**config(max_length=max_length), "records_per_epoch": 1000}
    story = given([_with(event, merged) for event in events]).starts(1)
    assert len(story.when(validation(1, steps - 1, 0.5)).last) == 1
    assert len(story.when(validation(1, steps, 0.5)).last) == 2


def _with(event: Any, merged: dict[str, Any]) -> Any:
    return replace(event, config=merged) if hasattr(event, "config") else event


def test_a_length_that_cannot_be_counted_in_batches_is_reached_only_by_saying_so() -> None:
    story = given(created(max_length={"epochs": 2})).starts(1).when(validation(1, 10**6, 0.5))
    story.then(TrialValidated(1, 1, 10**6, 0.5))
    story.when(completion(1, 2, 0.5)).then(TrialTargetReached(1, 1, 2, 0.5))


def test_the_batch_size_that_counts_is_the_trials_own() -> None:
    space = {"global_batch_size": {"type": "categorical", "vals": [10]}}
    story = given(created(max_length={"records": 100}, hyperparameters=space)).starts(1)
    assert len(story.when(validation(1, 9, 0.5)).last) == 1
    assert len(story.when(validation(1, 10, 0.5)).last) == 2


# ---------------------------------------------------------------- waiting


def waiting() -> Story:
    """Trial 1 has reached the first rung, checkpointed and given its slots back; 2 and 3 are in training."""
    story = halving().when(validation(1, 25, 0.5))
    story.then_kinds(
        *[TrialValidated, TrialTargetReached, TrialStopRequested, TrialCreated, TrialTargetSet, TrialRunRequested]
    )
    stop = story.last[2]
    assert isinstance(stop, TrialStopRequested)
    assert (stop.how, stop.then) == ("preempt", "WAITING")
    assert stop.why == "it is number 1 of 1 at rung 0 (at 25), from which the best 0 train on"
    return story.exits(1, "yielded").then_kinds(TrialRunEnded)


def test_a_trial_that_waits_holds_no_slots_and_is_no_restart() -> None:
    one = waiting().experiment.trial(1)
    assert (one.state, one.allocation_id, one.restarts) == (State.WAITING, None, 0)


def test_a_trial_that_waits_trains_on_when_it_is_promoted() -> None:
    story = waiting().when(validation(2, 25, 0.9))
    assert targets(story) == [(1, 50)]
    (run,) = [event for event in story.last if isinstance(event, TrialRunRequested)]
    assert (run.trial_id, run.run_id) == (1, 2)


def test_a_trial_promoted_while_it_still_gives_way_runs_again_once_it_has() -> None:
    story = halving().when(validation(1, 25, 0.5)).when(validation(2, 25, 0.9))
    assert targets(story) == [(1, 50)]
    assert not [event for event in story.last if isinstance(event, TrialRunRequested)]
    story.exits(1, "yielded").then_kinds(TrialRunEnded, TrialRunRequested)


def test_a_script_that_ends_at_the_target_it_knew_has_not_ended_its_training() -> None:
    waits = halving().when(validation(1, 25, 0.5)).exits(1, "exited", 0).then_kinds(TrialRunEnded)
    assert waits.experiment.trial(1).state is State.WAITING
    promoted = halving().when(validation(1, 25, 0.5)).when(validation(2, 25, 0.4))
    assert promoted.experiment.trial(2).target == 50
    promoted.exits(2, "exited", 0).then_kinds(TrialRunEnded, TrialRunRequested)


def test_a_script_that_ends_before_its_target_has_ended_its_training() -> None:
    story = halving().exits(1, "exited", 0)
    story.then_kinds(TrialRunEnded, TrialEnded, TrialCreated, TrialTargetSet, TrialRunRequested)


def test_a_trial_that_waits_stays_so_over_a_pause() -> None:
    story = waiting().when(PauseExperiment(EXPERIMENT)).when(ActivateExperiment(EXPERIMENT))
    assert story.experiment.trial(1).state is State.WAITING
    assert all(getattr(event, "trial_id", 0) != 1 for event in story.last)


def test_a_trial_promoted_while_the_experiment_is_paused_runs_when_it_goes_on() -> None:
    story = waiting().when(PauseExperiment(EXPERIMENT)).when(validation(2, 25, 0.9))
    assert targets(story) == [(1, 50)]
    assert story.experiment.trial(1).state is State.PAUSED
    story = story.exits(2, "yielded").exits(3, "yielded").when(ActivateExperiment(EXPERIMENT))
    assert 1 in [event.trial_id for event in story.last if isinstance(event, TrialRunRequested)]


def test_trials_that_wait_are_complete_when_the_search_ends() -> None:
    story = halving(max_trials=2).when(validation(1, 25, 0.5)).when(validation(2, 25, 0.9))
    story = story.exits(1, "yielded").exits(2, "yielded")
    assert story.experiment.trial(2).state is State.WAITING
    story = story.starts(1).when(validation(1, 50, 0.5, run_id=2))
    without_notes(story).then_kinds(
        TrialValidated, TrialTargetReached, ExperimentStopping, TrialStopRequested, TrialEnded
    )
    assert without_notes(story).last[-1] == TrialEnded(
        2, "COMPLETED", "all 2 trials have trained as far as they were worth"
    )
    story = story.exits(1, "yielded").then_kinds(TrialRunEnded, TrialEnded, ExperimentEnded)
    assert story.experiment.state.name == "COMPLETED"


def test_a_trial_that_waits_can_be_killed_and_its_search_goes_on() -> None:
    story = waiting().when(KillTrial(EXPERIMENT, 1))
    without_notes(story).then(TrialEnded(1, "CANCELED", "it was killed"))
    story = story.when(validation(2, 25, 0.9))  # trial 1 moves up as the worst, and nobody is left to promote
    without_notes(story).then_kinds(
        *[TrialValidated, TrialTargetReached, TrialStopRequested, TrialCreated, TrialTargetSet, TrialRunRequested]
    )


def test_an_experiment_that_is_canceled_ends_its_waiting_trials_at_once() -> None:
    story = waiting().when(CancelExperiment(EXPERIMENT))
    assert TrialEnded(1, "CANCELED", "it was canceled") in without_notes(story).last


# ---------------------------------------------------------------- trials ahead of their targets


def test_a_script_that_trains_ahead_of_its_targets_has_reached_the_next_as_soon_as_it_is_set() -> None:
    story = halving().when(validation(1, 100, 0.5)).exits(1, "yielded").when(validation(2, 25, 0.9))
    assert targets(story) == [(1, 50)]
    assert not [event for event in story.last if isinstance(event, TrialRunRequested)]
    story = story.when(CoverTarget(1))
    assert without_notes(story).last[0] == TrialTargetReached(1, 1, 50, 0.5)
    assert story.experiment.trial(1).state is State.WAITING
    story.when(CoverTarget(1)).then()


def test_a_trial_that_is_ahead_of_one_target_and_promoted_beyond_what_it_trained_runs_again() -> None:
    """Its first targets cost no run; the one that does must not wait for anybody to ask for it."""
    story = halving().when(validation(1, 60, 0.5)).exits(1, "yielded").when(validation(2, 25, 0.9)).exits(2, "yielded")
    story = story.when(CoverTarget(1)).when(validation(3, 60, 0.6)).when(validation(3, 62, 0.1)).exits(3, "yielded")
    story = story.when(validation(4, 25, 0.9))
    assert targets(story) == [(3, 50)]
    story = story.when(CoverTarget(3))
    assert targets(story) == [(3, 100)]
    (run,) = [event for event in story.last if isinstance(event, TrialRunRequested)]
    assert (run.trial_id, run.run_id) == (3, 2)


def test_a_target_that_lies_ahead_is_not_covered() -> None:
    halving().when(CoverTarget(1)).then()


# ---------------------------------------------------------------- the stopping forms


def test_a_stopped_trial_is_asked_to_checkpoint_and_is_complete() -> None:
    story = (
        halving(stop_once=True)
        .when(validation(1, 25, 0.5))
        .then_kinds(TrialValidated, TrialTargetReached, TrialTargetSet)
    )
    story = story.when(validation(2, 25, 0.9))
    (stop,) = [event for event in story.last if isinstance(event, TrialStopRequested)]
    assert (stop.trial_id, stop.how, stop.then) == (2, "preempt", "COMPLETED")
    assert stop.why == "it is number 2 of 2 at rung 0 (at 25), of which the best 1 train on"
    without_notes(story.exits(2, "yielded")).then_kinds(TrialRunEnded, TrialEnded)


def test_a_trial_that_reports_a_time_is_stopped_by_that() -> None:
    story = halving(max_length=None, time_metric="epochs", max_time=100)
    story = story.when(ReportValidation(EXPERIMENT, 1, 1, 7, 0.5, 60.0))
    without_notes(story).then(TrialValidated(1, 1, 7, 0.5, 60.0))
    story = story.when(ReportValidation(EXPERIMENT, 2, 1, 7, 0.9, 30.0))
    without_notes(story).then_kinds(TrialValidated, TrialStopRequested, TrialCreated, TrialRunRequested)


def test_a_search_that_had_nothing_to_compare_says_which_metric_was_not_reported() -> None:
    story = halving(max_trials=2).exits(1).exits(2)
    assert story.experiment.state.name == "COMPLETED"
    why = story.experiment.reason
    assert why.startswith("all 2 trials have ended, and none was compared: searcher.metric is 'loss'")
    assert why.endswith("report it, or name another")


def test_a_search_whose_trials_all_reported_nan_says_so() -> None:
    story = halving(stop_once=True, max_trials=2).when(validation(1, 25, None)).when(validation(2, 25, None))
    story = story.when(validation(1, 50, None)).when(validation(1, 100, None)).exits(1).exits(2, "yielded")
    assert story.experiment.state.name == "COMPLETED"
    assert story.experiment.reason == (
        "all 2 trials have ended, and none could be compared: each reported NaN or an infinity for 'loss'"
    )


def test_a_search_says_how_far_it_has_come_with_the_report_after_the_one_that_made_it_so() -> None:
    story = halving().when(validation(1, 25, 0.5)).when(validation(2, 25, 0.9))
    assert [event.progress for event in story.events if isinstance(event, SearchProgressed)] == [0.21]
    assert story.experiment.method.progress() == pytest.approx(2 / 4.8)
    said = [event for event in given(created("random")).exits(1).events if isinstance(event, SearchProgressed)]
    assert said == []

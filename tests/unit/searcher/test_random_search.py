"""Random search as a story: so many trials, so many at once, and what counts as done."""

from __future__ import annotations

from resolute.config import OPEN_TRIALS_MAX
from resolute.proto.experiment import (
    ExperimentEnded,
    ExperimentStopping,
    KillTrial,
    ReportEarlyExit,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialTargetSet,
)
from tests.unit.searcher.story import EXPERIMENT, created, given


def test_the_next_trial_starts_when_one_ends_and_the_last_end_ends_the_experiment() -> None:
    story = given(created("random"))
    story = story.exits(1).then_kinds(TrialRunEnded, TrialEnded, TrialCreated, TrialTargetSet, TrialRunRequested)
    story = story.exits(2).then_kinds(TrialRunEnded, TrialEnded)
    story = story.exits(3).then_kinds(TrialRunEnded, TrialEnded, ExperimentStopping, ExperimentEnded)
    assert story.experiment.state.name == "COMPLETED"
    assert story.experiment.method.progress() == 1.0


def test_a_trial_that_fails_for_good_does_not_end_the_search() -> None:
    story = given(created("random", max_restarts=0)).exits(1, code=1)
    story.then_kinds(TrialRunEnded, TrialEnded, TrialCreated, TrialTargetSet, TrialRunRequested)
    story = story.exits(2).exits(3)
    assert story.experiment.state.name == "COMPLETED"


def test_a_search_whose_trials_all_failed_is_an_error_and_says_why() -> None:
    story = given(created("random", max_restarts=0))
    for trial_id in (1, 2, 3):
        story = story.exits(trial_id, code=trial_id, reason="boom")
    assert story.experiment.state.name == "ERROR"
    assert "exit code 3: boom" in story.experiment.reason


def test_a_search_whose_trials_were_all_killed_is_canceled() -> None:
    story = given(created("random"))
    for trial_id in (1, 2, 3):
        story = story.when(KillTrial(EXPERIMENT, trial_id)).exits(trial_id, "killed", 137)
    assert story.experiment.state.name == "CANCELED"


def test_invalid_hyperparameters_are_replaced_by_a_fresh_sample_and_not_counted() -> None:
    story = given(created("random", max_trials=1))
    for trial_id in (1, 2, 3):
        story = story.when(ReportEarlyExit(EXPERIMENT, trial_id, "INVALID_HP")).exits(trial_id)
        story.then_kinds(TrialRunEnded, TrialEnded, TrialCreated, TrialTargetSet, TrialRunRequested)
    samples = [e.hparams["lr"] for e in story.events if isinstance(e, TrialCreated)]
    assert len(set(samples)) == 4
    assert story.exits(4).experiment.state.name == "COMPLETED"


def test_a_space_without_a_valid_point_does_not_keep_the_cluster_busy_for_ever() -> None:
    story = given(created("random", max_trials=1))
    for trial_id in range(1, 102):
        story = story.when(ReportEarlyExit(EXPERIMENT, trial_id, "INVALID_HP")).exits(trial_id)
    assert story.experiment.state.name == "ERROR"
    assert story.experiment.reason == "101 trials reported their hyperparameters as invalid"


def test_no_limit_on_concurrency_starts_all_at_once() -> None:
    assert sum(isinstance(e, TrialCreated) for e in created("random", max_trials=40, max_concurrent_trials=0)) == 40


def test_a_single_search_with_invalid_hyperparameters_is_an_error() -> None:
    story = given(created()).when(ReportEarlyExit(EXPERIMENT, 1, "INVALID_HP")).exits(1)
    assert story.experiment.state.name == "ERROR"
    assert "invalid" in story.experiment.reason


def test_a_search_without_a_limit_opens_so_many_trials_and_another_for_each_that_ends() -> None:
    story = given(created("random", max_trials=5_000, max_concurrent_trials=0))
    assert len(story.experiment.open) == OPEN_TRIALS_MAX
    story = story.exits(1).then_kinds(TrialRunEnded, TrialEnded, TrialCreated, TrialTargetSet, TrialRunRequested)
    assert len(story.experiment.open) == OPEN_TRIALS_MAX
    assert story.experiment.trials[OPEN_TRIALS_MAX + 1].hparams != story.experiment.trials[1].hparams

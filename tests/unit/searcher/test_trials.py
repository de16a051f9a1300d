"""A trial through its runs: restarts, pauses, preemption, lost hosts, early exits, kills."""

from __future__ import annotations

import pytest

from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested, CheckpointFilesRemoved
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.experiment import (
    ActivateExperiment,
    CancelExperiment,
    ExperimentEnded,
    ExperimentPaused,
    ExperimentStopping,
    KillExperiment,
    KillTrial,
    PauseExperiment,
    ReportEarlyExit,
    ReportValidation,
    TrialCheckpointed,
    TrialCheckpointLost,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.states import TrialState as State
from tests.unit.searcher.story import EXPERIMENT, Story, created, exited, given


def checkpoint(uuid: str, steps: int, trial_id: int = 1) -> CheckpointCompleted:
    return CheckpointCompleted(uuid, EXPERIMENT, trial_id, "t", "a", 1, steps, {}, {}, {})


def training() -> Story:
    return given(created()).starts(1)


def test_a_trial_that_exits_cleanly_is_complete_and_so_is_its_experiment() -> None:
    training().exits(1).then_kinds(TrialRunEnded, TrialEnded, ExperimentStopping, ExperimentEnded)
    assert training().exits(1).experiment.state.name == "COMPLETED"


def test_a_failed_run_restarts_from_the_last_checkpoint_until_max_restarts() -> None:
    story = training().when(checkpoint("c-1", 50)).then(TrialCheckpointed(1, 1, "c-1", 50))
    story = story.exits(1, code=1).then_kinds(TrialRunEnded, TrialRunRequested)
    failed, again = story.last
    assert isinstance(failed, TrialRunEnded)
    assert failed.restarts_left == 0
    assert isinstance(again, TrialRunRequested)
    assert (again.run_id, again.checkpoint, again.steps_completed) == (2, "c-1", 50)
    story = story.exits(1, code=3, reason="ZeroDivisionError: division by zero")
    story.then_kinds(TrialRunEnded, TrialEnded, ExperimentStopping, ExperimentEnded)
    ended = story.last[-1]
    assert isinstance(ended, ExperimentEnded)
    assert ended.outcome == "ERROR"
    assert ended.reason == "run 2 failed with exit code 3: ZeroDivisionError: division by zero; max_restarts is 1"


@pytest.mark.parametrize("outcome", ["lost", "yielded", "killed"])
def test_slots_that_were_taken_away_are_not_counted_as_a_failure(outcome: str) -> None:
    story = training()
    for _ in range(5):
        story = story.exits(1, outcome, None).then_kinds(TrialRunEnded, TrialRunRequested)
    assert story.experiment.trial(1).restarts == 0
    assert story.experiment.trial(1).run_id == 6


def test_a_run_that_can_never_have_slots_is_an_error_at_once() -> None:
    story = given(created()).exits(1, "refused", None, "4 slots asked, the largest agent has 2")
    assert story.experiment.state.name == "ERROR"
    assert "the largest agent has 2" in story.experiment.reason


def test_pausing_asks_a_training_trial_to_checkpoint_and_resuming_starts_it_from_there() -> None:
    story = training().when(PauseExperiment(EXPERIMENT))
    story.then_kinds(ExperimentPaused, TrialStopRequested)
    stop = story.last[1]
    assert isinstance(stop, TrialStopRequested)
    assert (stop.how, stop.then) == ("preempt", "PAUSED")
    story = story.when(checkpoint("c-1", 30)).exits(1, "yielded").then_kinds(TrialRunEnded)
    assert story.experiment.trial(1).state is State.PAUSED
    story = story.when(ActivateExperiment(EXPERIMENT))
    resumed = story.last[1]
    assert isinstance(resumed, TrialRunRequested)
    assert (resumed.run_id, resumed.checkpoint) == (2, "c-1")


def test_pausing_leaves_it_to_the_scheduler_whether_a_run_has_anything_to_save() -> None:
    story = given(created()).when(PauseExperiment(EXPERIMENT))
    stop = story.last[1]
    assert isinstance(stop, TrialStopRequested)
    assert stop.how == "preempt"
    assert story.exits(1, "yielded", None).last[1:] == ()


def test_a_trial_resumed_while_it_is_giving_way_runs_again_once_it_has() -> None:
    story = training().when(PauseExperiment(EXPERIMENT)).when(ActivateExperiment(EXPERIMENT))
    assert len(story.last) == 1
    story.exits(1, "yielded").then_kinds(TrialRunEnded, TrialRunRequested)


def test_a_trial_that_completes_while_it_is_being_paused_is_complete() -> None:
    story = training().when(PauseExperiment(EXPERIMENT)).exits(1)
    assert story.experiment.state.name == "COMPLETED"


def test_a_failure_while_paused_is_counted_and_waits() -> None:
    story = training().when(PauseExperiment(EXPERIMENT)).exits(1, code=1).then_kinds(TrialRunEnded)
    assert story.experiment.trial(1).restarts == 1


def test_canceling_lets_a_trial_checkpoint_and_ends_canceled_whatever_its_exit_code() -> None:
    for code in (0, 1):
        story = training().when(CancelExperiment(EXPERIMENT)).then_kinds(ExperimentStopping, TrialStopRequested)
        story = story.exits(1, code=code).then_kinds(TrialRunEnded, TrialEnded, ExperimentEnded)
        assert story.experiment.state.name == "CANCELED"


def test_a_kill_overtakes_a_cancellation() -> None:
    story = training().when(CancelExperiment(EXPERIMENT)).when(KillExperiment(EXPERIMENT))
    story.then_kinds(ExperimentStopping, TrialStopRequested)
    stop = story.last[1]
    assert isinstance(stop, TrialStopRequested)
    assert stop.how == "kill"
    story = story.exits(1, "killed", 137)
    assert story.experiment.state.name == "CANCELED"
    assert story.experiment.reason == "it was killed"


def test_killing_what_runs_nowhere_ends_it_at_once() -> None:
    story = given(created(activate=False)).when(KillExperiment(EXPERIMENT))
    story.then_kinds(ExperimentStopping, TrialEnded, ExperimentEnded)


def test_killing_the_only_trial_of_a_single_search_cancels_the_experiment() -> None:
    story = training().when(KillTrial(EXPERIMENT, 1)).then_kinds(TrialStopRequested)
    story = story.exits(1, "killed", 137)
    assert story.experiment.state.name == "CANCELED"


def test_killing_a_paused_trial_of_a_random_search_starts_no_run_while_the_experiment_is_paused() -> None:
    story = given(created("random", activate=False)).when(KillTrial(EXPERIMENT, 2))
    story.then_kinds(TrialEnded, TrialCreated, TrialTargetSet)


def test_a_trial_may_end_itself_early() -> None:
    story = training().when(ReportEarlyExit(EXPERIMENT, 1, "USER_REQUESTED_STOP"))
    story.then(TrialEarlyExitReported(1, "USER_REQUESTED_STOP"))
    story = story.exits(1, code=1)
    assert story.experiment.state.name == "COMPLETED"
    assert "USER_REQUESTED_STOP" in story.experiment.reason


def test_a_trial_that_says_it_would_fail_again_is_not_restarted() -> None:
    story = training().when(ReportEarlyExit(EXPERIMENT, 1, "MISCONFIGURED"))
    story.when(ReportEarlyExit(EXPERIMENT, 1, "MISCONFIGURED")).then()
    story = story.exits(1, code=1)
    assert story.experiment.state.name == "ERROR"
    assert "is not restarted: its code and its configuration do not fit" in story.experiment.reason


def test_an_unknown_reason_for_an_early_exit_names_those_that_would_do() -> None:
    training().then_refused(ReportEarlyExit(EXPERIMENT, 1, "BORED"), InvalidConfig, "INVALID_HP.*found 'BORED'")


def test_each_step_is_validated_once_and_news_of_older_runs_is_let_pass() -> None:
    story = training().when(ReportValidation(EXPERIMENT, 1, 1, 50, 0.5)).then(TrialValidated(1, 1, 50, 0.5))
    story.when(ReportValidation(EXPERIMENT, 1, 1, 50, 0.4)).then()
    story = story.exits(1, "lost", None)
    story.when(ReportValidation(EXPERIMENT, 1, 1, 60, 0.3)).then()
    story.when(ReportValidation(EXPERIMENT, 1, 2, 60, None)).then(TrialValidated(1, 2, 60, None))


def test_an_older_checkpoint_never_replaces_a_newer_one() -> None:
    story = training().when(checkpoint("c-2", 80))
    story.when(checkpoint("c-1", 40)).then()
    story.when(checkpoint("c-2", 80)).then()


def test_a_checkpoint_whose_files_are_deleted_is_not_resumed_from() -> None:
    story = training().when(checkpoint("c-1", 30)).when(checkpoint("c-2", 60))
    story = story.when(CheckpointDeletionRequested("c-2", "by mistake")).then(TrialCheckpointLost(1, "c-2", "c-1", 30))
    story.when(CheckpointFilesRemoved("c-2", {})).then()
    again = story.exits(1, "lost", None).last[1]
    assert isinstance(again, TrialRunRequested)
    assert (again.checkpoint, again.steps_completed) == ("c-1", 30)
    story.when(CheckpointFilesRemoved("c-1", {})).then(TrialCheckpointLost(1, "c-1", None, 0))


def test_news_that_comes_late_or_twice_changes_nothing() -> None:
    story = training()
    first = story.allocation(1)
    story.starts(1).then()
    story = story.exits(1, "lost", None)
    story.when(exited(first)).then()
    over = story.exits(1)
    over.when(exited(first)).then()
    over.when(checkpoint("c-9", 99)).then()
    over.when(ReportValidation(EXPERIMENT, 1, 2, 99, 0.1)).then()
    over.when(ReportEarlyExit(EXPERIMENT, 1, "INVALID_HP")).then()
    over.when(KillTrial(EXPERIMENT, 1)).then()


def test_an_unknown_trial_is_not_found() -> None:
    training().then_refused(KillTrial(EXPERIMENT, 9), NotFound, "no trial 9")


def test_a_run_starts_once() -> None:
    given(created()).starts(1).then(TrialRunStarted(1, 1)).starts(1).then()

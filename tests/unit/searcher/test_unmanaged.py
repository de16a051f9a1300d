"""Experiments whose trials run outside of the cluster: what clients do to them, and what that leads to."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import (
    ActivateExperiment,
    CancelExperiment,
    CreateUnmanagedTrial,
    EditExperiment,
    ExperimentActivated,
    ExperimentContinued,
    ExperimentEnded,
    ExperimentPaused,
    ExperimentStopping,
    KillExperiment,
    KillTrial,
    PauseExperiment,
    ReportTrialSilent,
    ReportValidation,
    SetUnmanagedTrialState,
    StartUnmanagedTrial,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialValidated,
)
from resolute.search import user_commands
from resolute.searcher.reactions import react
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given, submission

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def outside(name: str = "single") -> Story:
    command = replace(submission(config(name)), unmanaged=True)
    return given(user_commands.create(command, EXPERIMENT, itertools.count(1)))


def with_trial(name: str = "a") -> Story:
    return outside().when(CreateUnmanagedTrial(EXPERIMENT, name, {"lr": 0.1}))


def running() -> Story:
    return with_trial().when(StartUnmanagedTrial(EXPERIMENT, 1))


def said(state: str, trial_id: int = 1) -> SetUnmanagedTrialState:
    return SetUnmanagedTrialState(EXPERIMENT, trial_id, state)


def silent(run_id: int = 1) -> ReportTrialSilent:
    return ReportTrialSilent(EXPERIMENT, 1, run_id, AT, 300)


def test_no_search_method_creates_trials_of_an_unmanaged_experiment() -> None:
    assert [type(event).__name__ for event in outside("random").events] == ["ExperimentCreated"]


def test_a_trial_is_created_once_for_each_name() -> None:
    story = with_trial().then_kinds(TrialCreated)
    assert (story.experiment.trial(1).task_id, story.experiment.state) == ("1.a", "PAUSED")
    story.when(CreateUnmanagedTrial(EXPERIMENT, "a", {"lr": 0.1})).then()
    story.when(CreateUnmanagedTrial(EXPERIMENT, "b", {"lr": 0.1})).then_kinds(TrialCreated)
    story.then_refused(CreateUnmanagedTrial(EXPERIMENT, "a", {"lr": 0.2}), Refused, "other ones")


def test_a_trial_is_started_from_outside_and_nothing_is_asked_of_the_scheduler() -> None:
    story = running().then_kinds(ExperimentActivated, TrialRunRequested, TrialRunStarted)
    assert [react(event, story.experiment) for event in story.last] == [None] * 3
    story.when(EditExperiment(EXPERIMENT, {"resource_pool": "other", "priority": 3}))
    assert [react(event, story.experiment) for event in story.events] == [None] * len(story.events)


def test_a_second_start_says_that_it_resumes() -> None:
    story = running().then_refused(StartUnmanagedTrial(EXPERIMENT, 1), Refused, "already been started")
    story = story.when(StartUnmanagedTrial(EXPERIMENT, 1, resume=True))
    story.then_kinds(TrialRunEnded, TrialRunRequested, TrialRunStarted)
    assert story.experiment.trial(1).run_id == 2


@pytest.mark.parametrize(
    ("state", "outcome"), [("COMPLETED", "completed"), ("CANCELED", "killed"), ("ERROR", "failed")]
)
def test_the_experiment_ends_as_its_last_trial_does(state: str, outcome: str) -> None:
    story = running().when(said(state))
    story.then_kinds(TrialRunEnded, TrialEnded, ExperimentStopping, ExperimentEnded)
    assert (story.last[0].outcome, story.experiment.state) == (outcome, state)  # type: ignore[attr-defined]
    story.when(said(state)).then()


def test_the_experiment_ends_as_the_best_of_its_trials() -> None:
    story = running().when(CreateUnmanagedTrial(EXPERIMENT, "b", {})).when(StartUnmanagedTrial(EXPERIMENT, 2))
    story = story.when(said("COMPLETED")).then_kinds(TrialRunEnded, TrialEnded)
    assert story.experiment.state == "ACTIVE"
    assert story.when(said("ERROR", 2)).experiment.state == "COMPLETED"


def test_a_trial_whose_heartbeats_stay_away_ends_and_goes_on_when_it_is_started_again() -> None:
    story = running().when(silent())
    story.then_kinds(TrialRunEnded, TrialEnded, ExperimentStopping, ExperimentEnded)
    assert story.last[1] == TrialEnded(
        1, "ERROR", "no heartbeat for 300 seconds; the last one came at 2026-01-31 12:00:00 UTC"
    )
    story.when(silent()).then()
    story = story.when(StartUnmanagedTrial(EXPERIMENT, 1, resume=True))
    story.then_kinds(ExperimentContinued, TrialContinued, TrialRunRequested, TrialRunStarted)
    assert (story.experiment.state, story.experiment.trial(1).run_id) == ("ACTIVE", 2)
    story.when(silent(run_id=1)).then()


def test_a_trial_that_was_lost_may_still_report_how_it_ended() -> None:
    story = running().when(silent()).when(said("COMPLETED"))
    story.then_kinds(ExperimentContinued, TrialContinued, TrialEnded, ExperimentStopping, ExperimentEnded)
    assert story.experiment.state == "COMPLETED"


def test_running_is_said_of_a_trial_that_runs_and_of_one_that_comes_back() -> None:
    story = running().when(said("ACTIVE")).then()
    story.when(said("ERROR")).when(said("ACTIVE"))
    back = story.when(said("ERROR")).when(said("ACTIVE"))
    back.then_kinds(ExperimentContinued, TrialContinued, TrialRunRequested, TrialRunStarted)


def test_a_paused_trial_pauses_its_experiment_and_is_started_again() -> None:
    story = running().when(said("PAUSED")).then_kinds(TrialRunEnded, ExperimentPaused)
    story.when(said("PAUSED")).then()
    assert story.when(said("ACTIVE")).experiment.state == "ACTIVE"


def test_a_trial_that_is_only_created_keeps_its_experiment_open() -> None:
    story = running().when(CreateUnmanagedTrial(EXPERIMENT, "b", {})).when(said("COMPLETED"))
    story.then_kinds(TrialRunEnded, TrialEnded, ExperimentPaused)
    ended = story.when(said("ERROR", 2)).then_kinds(TrialEnded, ExperimentStopping, ExperimentEnded)
    assert ended.experiment.state == "COMPLETED"
    again = ended.when(CreateUnmanagedTrial(EXPERIMENT, "c", {}))
    again.then_kinds(ExperimentContinued, ExperimentPaused, TrialCreated)


def test_a_validation_is_recorded_and_decides_nothing() -> None:
    story = outside("random").when(CreateUnmanagedTrial(EXPERIMENT, "a", {})).when(StartUnmanagedTrial(EXPERIMENT, 1))
    story.when(ReportValidation(EXPERIMENT, 1, 1, 10, 0.5)).then(TrialValidated(1, 1, 10, 0.5))
    story.when(ReportValidation(EXPERIMENT, 1, 2, 20, 0.5)).then()
    again = story.when(said("ERROR")).when(StartUnmanagedTrial(EXPERIMENT, 1, resume=True))
    assert again.experiment.state == "ACTIVE"


def test_pausing_activating_and_killing_are_up_to_the_processes_outside() -> None:
    story = running()
    for command in (PauseExperiment(EXPERIMENT), ActivateExperiment(EXPERIMENT)):
        story.then_refused(command, Refused, "its trials run outside of the cluster")
    story.when(KillExperiment(EXPERIMENT)).then().when(CancelExperiment(EXPERIMENT)).then()
    story.then_refused(KillTrial(EXPERIMENT, 1), NotFound, "nothing to kill")


def test_an_experiment_of_which_nothing_runs_is_ended_by_a_cancellation() -> None:
    story = with_trial().when(CancelExperiment(EXPERIMENT)).then_kinds(ExperimentStopping, TrialEnded, ExperimentEnded)
    assert story.experiment.state == "CANCELED"
    story.when(KillExperiment(EXPERIMENT)).then()
    assert with_trial().when(KillExperiment(EXPERIMENT)).experiment.state == "CANCELED"


def test_a_managed_experiment_takes_no_trials_from_outside() -> None:
    managed = given(created())
    commands = (CreateUnmanagedTrial(EXPERIMENT, "a", {}), StartUnmanagedTrial(EXPERIMENT, 1), said("COMPLETED"))
    for command in commands:
        managed.then_refused(command, Refused, "it is managed")
    managed.when(silent()).then()


def test_a_state_that_no_client_may_set_is_refused() -> None:
    running().then_refused(said("QUEUED"), InvalidConfig, "state: expected one of ACTIVE, PAUSED")

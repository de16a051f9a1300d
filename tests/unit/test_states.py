"""How experiments, trials, runs and checkpoints stand and end is defined once, and the documents say the same."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path

import pytest

from resolute.api.experiments import filters
from resolute.api.kernel.declared import messages_of
from resolute.api.shown_states import AllocationState, Phase, ShareState, sql_list
from resolute.api.table import ROUTES
from resolute.api.trials import reading
from resolute.proto.message import EVENTS
from resolute.proto.states import (
    FINISHED,
    GONE,
    RUNNING,
    STOPPING,
    WITH_FILES,
    AfterStop,
    AllocationOutcome,
    CheckpointState,
    EarlyExit,
    End,
    ExperimentState,
    LogPolicyAction,
    RunOutcome,
    StopAs,
    StopHow,
    TrialState,
    end_of,
    ends_as,
    goes_on,
    has_files,
    is_finished,
    is_over,
    is_stopping,
    run_outcome,
    stopping,
)

ROOT = Path(__file__).parents[2]

DECLARED: dict[tuple[str, str], type[StrEnum]] = {
    ("ExperimentStopping", "outcome"): StopAs,
    ("ExperimentEnded", "outcome"): End,
    ("TrialEnded", "outcome"): End,
    ("TrialRunEnded", "outcome"): RunOutcome,
    ("TrialStopRequested", "how"): StopHow,
    ("TrialStopRequested", "then"): AfterStop,
    ("TrialEarlyExitReported", "reason"): EarlyExit,
    ("TrialLogPolicyMatched", "action"): LogPolicyAction,
    ("AllocationExited", "outcome"): AllocationOutcome,
}


@pytest.mark.parametrize(("event", "field"), DECLARED)
def test_the_schema_of_an_event_names_every_word_that_the_field_may_hold(event: str, field: str) -> None:
    assert event in EVENTS
    schema = json.loads((ROOT / "proto" / "schemas" / f"{event}.json").read_text())
    described = schema["properties"][field]["description"]
    assert [word for word in DECLARED[event, field] if word not in described] == []


def test_every_state_of_an_experiment_is_of_one_kind() -> None:
    kinds = (*RUNNING, *STOPPING, *FINISHED, *GONE)
    assert sorted(kinds) == sorted(set(ExperimentState) - {ExperimentState.ABSENT})


def test_what_has_ended_is_finished_and_what_is_deleted_is_over_as_well() -> None:
    assert {state for state in ExperimentState if is_finished(state)} == set(FINISHED)
    assert {state for state in TrialState if is_finished(state)} == {*End}
    assert {state for state in ExperimentState if is_over(state)} == {*FINISHED, *GONE}


def test_what_is_stopping_ends_as_it_was_asked_to_and_what_is_killed_ends_canceled() -> None:
    assert {state for state in ExperimentState if is_stopping(state)} == set(STOPPING)
    assert {state for state in TrialState if is_stopping(state)} == {s for s in TrialState if s.startswith("STOPPING")}
    assert {wanted.value: end_of(wanted) for wanted in StopAs} == {
        "COMPLETED": End.COMPLETED,
        "CANCELED": End.CANCELED,
        "KILLED": End.CANCELED,
        "ERROR": End.ERROR,
    }
    assert all(ends_as(stopping(wanted)) is end_of(wanted) for wanted in StopAs)


def test_after_a_stop_a_trial_goes_on_or_is_stopping() -> None:
    for after in AfterStop:
        assert goes_on(after) or TrialState(stopping(after)) in TrialState


@pytest.mark.parametrize(
    ("outcome", "exit_code", "hopeless", "meant"),
    [
        (AllocationOutcome.EXITED, 0, False, RunOutcome.COMPLETED),
        (AllocationOutcome.EXITED, 1, False, RunOutcome.FAILED),
        (AllocationOutcome.EXITED, None, False, RunOutcome.FAILED),
        (AllocationOutcome.EXITED, None, True, RunOutcome.HOPELESS),
        (AllocationOutcome.YIELDED, 0, False, RunOutcome.YIELDED),
        (AllocationOutcome.KILLED, 137, False, RunOutcome.KILLED),
        (AllocationOutcome.LOST, None, False, RunOutcome.LOST),
        (AllocationOutcome.REFUSED, None, False, RunOutcome.REFUSED),
    ],
)
def test_the_end_of_an_allocation_says_how_its_run_ended(
    outcome: str, exit_code: int | None, hopeless: bool, meant: RunOutcome
) -> None:
    assert run_outcome(outcome, exit_code, hopeless=hopeless) == meant


def test_files_are_where_a_checkpoint_was_completed_and_not_deleted() -> None:
    assert {state for state in CheckpointState if has_files(state)} == set(WITH_FILES)
    assert sql_list(WITH_FILES) == "('COMPLETED', 'PARTIALLY_DELETED')"


@pytest.mark.parametrize(
    ("wire", "accepted"),
    [
        ("experimentv1State", filters.STATES),
        ("trialv1State", reading.STATES),
        ("checkpointv1State", tuple(CheckpointState)),
    ],
)
def test_lists_can_be_filtered_by_every_state_of_the_wire(wire: str, accepted: tuple[str, ...]) -> None:
    declared = messages_of(ROUTES)[wire]["enum"]
    assert sorted(f"STATE_{state}" for state in accepted) == sorted(set(declared) - {"STATE_UNSPECIFIED"})


def test_the_indexes_of_the_read_model_are_about_states_that_there_are() -> None:
    tables = (ROOT / "services/api/resolute/api/tasks/tables.sql").read_text()
    assert f"WHERE state = '{AllocationState.QUEUED}'" in tables
    assert f"WHERE state <> '{ShareState.EXITED}'" in tables
    assert set(Phase).isdisjoint(ExperimentState)

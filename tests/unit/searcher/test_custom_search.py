"""Custom search as a story: a client asks for trials and lengths, and is told by name what makes no sense."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import (
    ExperimentEnded,
    ExperimentStopping,
    PostOperations,
    ReportValidation,
    SearchOperationsPosted,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.message import Object
from resolute.search.reports import CloseTrial
from tests.unit.searcher.story import EXPERIMENT, Story, created, given

FIRST, SECOND = str(UUID(int=1)), str(UUID(int=2))
HPARAMS = {"lr": 0.1}


def post(*operations: Object, answers: int = 0) -> PostOperations:
    return PostOperations(EXPERIMENT, operations, answers)


def create(request_id: str = FIRST, **more: Any) -> Object:
    return {"type": "create_trial", "request_id": request_id, "hparams": HPARAMS, **more}


def train(length: int, request_id: str = FIRST) -> Object:
    return {"type": "train_to", "request_id": request_id, "length": length}


def close(request_id: str = FIRST) -> Object:
    return {"type": "close_trial", "request_id": request_id}


def search() -> Story:
    return given(created("custom", max_length=None))


def training() -> Story:
    return search().when(post(create(length=10))).starts(1)


def test_a_custom_search_begins_with_nothing_and_waits_for_its_client() -> None:
    assert search().experiment.trials == {}
    assert search().experiment.state.name == "ACTIVE"


def test_its_client_creates_trials_and_says_how_far_they_train() -> None:
    story = search().when(post(create(), train(10), create(SECOND)))
    story.then_kinds(
        *[SearchOperationsPosted, TrialCreated, TrialTargetSet, TrialRunRequested, TrialCreated, TrialRunRequested]
    )
    trial = story.last[1]
    assert isinstance(trial, TrialCreated)
    assert (trial.request_id, trial.task_id, trial.hparams) == (FIRST, f"1.{FIRST}", HPARAMS)


def test_a_trial_waits_at_its_target_until_its_client_says_more() -> None:
    story = training().when(ReportValidation(EXPERIMENT, 1, 1, 10, 0.5))
    story.then_kinds(TrialValidated, TrialTargetReached, TrialStopRequested)
    story = story.exits(1, "yielded").when(post(train(20)))
    story.then_kinds(SearchOperationsPosted, TrialTargetSet, TrialRunRequested)


def test_a_client_that_is_ahead_of_its_trial_lets_it_train_on() -> None:
    story = training().when(post(train(20))).then_kinds(SearchOperationsPosted, TrialTargetSet)
    story.when(ReportValidation(EXPERIMENT, 1, 1, 10, 0.5)).then_kinds(TrialValidated)


def test_a_closed_trial_checkpoints_and_is_complete() -> None:
    story = training().when(post(close())).then_kinds(SearchOperationsPosted, TrialStopRequested)
    story = story.exits(1, "yielded").then_kinds(TrialRunEnded, TrialEnded)
    assert story.experiment.state.name == "ACTIVE"


def test_a_trial_that_waits_is_closed_in_a_step_of_its_own() -> None:
    story = training().when(ReportValidation(EXPERIMENT, 1, 1, 10, 0.5)).exits(1, "yielded").when(post(close()))
    story.then_kinds(SearchOperationsPosted, TrialStopRequested)
    story.when(CloseTrial(1)).then_kinds(TrialEnded)


@pytest.mark.parametrize("outcome", ["COMPLETED", "CANCELED", "ERROR"])
def test_the_client_ends_the_search_as_it_says(outcome: str) -> None:
    story = training().when(post({"type": "shutdown", "outcome": outcome, "reason": "enough"}))
    story.then_kinds(SearchOperationsPosted, ExperimentStopping, TrialStopRequested)
    story = story.exits(1, "yielded").then_kinds(TrialRunEnded, TrialEnded, ExperimentEnded)
    assert (story.experiment.state.name, story.experiment.reason) == (outcome, "enough")


def test_the_client_says_how_far_the_search_has_come() -> None:
    assert search().when(post({"type": "set_progress", "progress": 0.25})).experiment.method.progress() == 0.25


def test_an_answer_to_what_was_answered_before_changes_nothing() -> None:
    story = search().when(post(create(), answers=2))
    story.when(post(create(), answers=2)).then()
    story.when(post(create(SECOND), answers=1)).then()
    story.when(post(create(SECOND), answers=3)).then_kinds(SearchOperationsPosted, TrialCreated, TrialRunRequested)
    story.when(post(create(SECOND))).then_kinds(SearchOperationsPosted, TrialCreated, TrialRunRequested)


REFUSALS: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    (("x",), InvalidConfig, r"operations\[0\]: expected an object with a type; found 'x'"),
    (
        ({"type": "stop"},),
        InvalidConfig,
        r"operations\[0\].type: expected one of create_trial, train_to.* found 'stop'",
    ),
    (({"type": "train_to", "request_id": FIRST},), InvalidConfig, r"operations\[0\].length: missing. A train_to needs"),
    ((create(hparms={}),), InvalidConfig, r"operations\[0\].hparms: unknown field. A create_trial has request_id, hpa"),
    ((create("7"),), InvalidConfig, r"operations\[0\].request_id: expected a UUID, .*; found '7'"),
    (
        (create(SECOND, length=0),),
        InvalidConfig,
        r"operations\[0\].length: expected a whole number from 1 to .* found 0",
    ),
    ((create(SECOND, length=True),), InvalidConfig, r"operations\[0\].length: .* found True"),
    ((create(SECOND) | {"hparams": [1]},), InvalidConfig, r"operations\[0\].hparams: expected an object of names"),
    (({"type": "set_progress", "progress": 2},), InvalidConfig, r"operations\[0\].progress: expected a number from 0"),
    (({"type": "shutdown", "outcome": "DONE"},), InvalidConfig, r"operations\[0\].outcome: expected one of COMPLETED"),
    (({"type": "shutdown", "reason": 7},), InvalidConfig, r"operations\[0\].reason: expected text; found 7"),
    (
        ({"type": "shutdown"}, create(SECOND)),
        InvalidConfig,
        r"operations\[0\]: shutdown ends the search, and stands alone",
    ),
    ((train(10),), InvalidConfig, r"operations\[0\].length: expected more than 10, which is its target already"),
    ((train(20, SECOND),), InvalidConfig, r"operations\[0\].request_id: no trial 0.*2; create it first"),
    ((create(SECOND), close(SECOND)), InvalidConfig, r"operations\[1\]: trial .*2 is created in the same post"),
    (
        (create(SECOND, length=1), train(2, SECOND)),
        InvalidConfig,
        r"operations\[1\]: one post gives a trial one target",
    ),
    ((train(20), close()), InvalidConfig, r"operations\[1\]: one post asks one thing of a trial"),
    ((create(),), Refused, r"operations\[0\].request_id: there is a trial 0.*1 already; name each one anew"),
]


@pytest.mark.parametrize(("operations", "error", "says"), REFUSALS)
def test_what_makes_no_sense_is_refused_by_name_and_nothing_happens(
    operations: tuple[Any, ...], error: type[Any], says: str
) -> None:
    training().then_refused(post(*operations), error, says)


def test_a_trial_is_closed_once() -> None:
    story = training().when(post(close()))
    story.then_refused(post(close()), Refused, r"operations\[0\]: trial .* was closed; create another one")


def test_what_is_asked_of_a_trial_that_has_ended_comes_too_late_and_does_nothing() -> None:
    story = training().exits(1, code=0).when(post(train(20), create(SECOND)))
    story.then_kinds(SearchOperationsPosted, TrialCreated, TrialRunRequested)


def test_only_a_custom_search_takes_operations_and_only_while_it_goes_on() -> None:
    given(created("random")).then_refused(
        post(create()), Refused, "is searched by random; only custom takes operations"
    )
    over = search().when(post({"type": "shutdown"}))
    over.then_refused(post(create()), Refused, "takes no operations: it is COMPLETED")

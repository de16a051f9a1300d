"""The logs of trials: for how long they are kept, and that they were removed, is part of their experiment's story."""

from __future__ import annotations

import pytest

from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import (
    CancelExperiment,
    DeleteExperiment,
    KillExperiment,
    PauseExperiment,
    RecordLogRemoved,
    SetTrialLogRetention,
    TrialLogRemoved,
    TrialLogRetentionSet,
)
from resolute.proto.states import ExperimentState as State
from tests.unit.searcher.story import EXPERIMENT, Story, created, given

STORIES = {
    State.ACTIVE: lambda: given(created()).starts(1),
    State.PAUSED: lambda: given(created()).starts(1).when(PauseExperiment(EXPERIMENT)),
    State.STOPPING_CANCELED: lambda: given(created()).starts(1).when(CancelExperiment(EXPERIMENT)),
    State.STOPPING_KILLED: lambda: given(created()).starts(1).when(KillExperiment(EXPERIMENT)),
    State.COMPLETED: lambda: given(created()).starts(1).exits(1),
    State.CANCELED: lambda: given(created()).starts(1).when(CancelExperiment(EXPERIMENT)).exits(1, "killed"),
    State.ERROR: lambda: given(created(max_restarts=0)).starts(1).exits(1, code=1),
}


def story_in(state: State) -> Story:
    story = STORIES[state]()
    assert story.experiment.state is state
    return story


@pytest.mark.parametrize("state", list(STORIES))
def test_a_log_may_be_kept_otherwise_and_be_removed_whatever_becomes_of_the_experiment(state: State) -> None:
    story = story_in(state).when(SetTrialLogRetention(EXPERIMENT, 1, 3)).then(TrialLogRetentionSet(1, 3))
    story.when(RecordLogRemoved(EXPERIMENT, 1, 1200, 3)).then(TrialLogRemoved(1, 1200, 3))
    assert story.experiment.state is state


@pytest.mark.parametrize("days", [-2, 32768])
def test_a_time_that_cannot_be_is_refused(days: int) -> None:
    story_in(State.COMPLETED).then_refused(SetTrialLogRetention(EXPERIMENT, 1, days), InvalidConfig, "retention_policy")


def test_a_trial_that_is_not_there_has_no_log() -> None:
    story_in(State.COMPLETED).then_refused(SetTrialLogRetention(EXPERIMENT, 7, 3), NotFound, "no trial 7")


def test_an_experiment_that_is_being_deleted_loses_its_logs_anyway() -> None:
    story = story_in(State.COMPLETED).when(DeleteExperiment(EXPERIMENT))
    story.when(RecordLogRemoved(EXPERIMENT, 1, 1200, 3)).then()
    story.then_refused(SetTrialLogRetention(EXPERIMENT, 1, 3), Refused, "DELETING")

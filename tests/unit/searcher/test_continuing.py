"""An experiment that has ended goes on: which of its trials, from where, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import (
    ActivateExperiment,
    AddLabel,
    ArchiveExperiment,
    CancelExperiment,
    ContinueExperiment,
    DeleteExperiment,
    EditExperiment,
    ExperimentContinued,
    ExperimentEnded,
    KillTrial,
    PauseExperiment,
    ReportEarlyExit,
    TrialCheckpointLost,
    TrialContinued,
    TrialCreated,
    TrialRunRequested,
    TrialTargetSet,
)
from resolute.proto.states import ExperimentState as State
from resolute.search import continuing
from resolute.searcher.reactions import describe
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given

ID = EXPERIMENT


def again(name: str = "single", **changes: Any) -> ContinueExperiment:
    return ContinueExperiment(ID, config(name, **changes))


def checkpoint(uuid: str, steps: int, run_id: int = 1) -> CheckpointCompleted:
    return CheckpointCompleted(uuid, ID, 1, "t", "a", run_id, steps, {}, {"steps_completed": steps}, {})


def failed(**changes: Any) -> Story:
    """A single trial that left two checkpoints and failed for good."""
    story = given(created(max_restarts=0, **changes)).starts(1)
    return story.when(checkpoint("c-10", 10)).when(checkpoint("c-20", 20)).exits(1, code=1)


def test_a_trial_that_failed_runs_again_from_its_last_checkpoint_under_its_own_number() -> None:
    story = failed().when(again(max_restarts=0)).then_kinds(ExperimentContinued, TrialContinued, TrialRunRequested)
    run = story.last[-1]
    assert isinstance(run, TrialRunRequested)
    assert (run.trial_id, run.run_id, run.checkpoint, run.steps_completed) == (1, 2, "c-20", 20)
    assert story.experiment.state is State.ACTIVE
    assert story.starts(1).exits(1).experiment.state is State.COMPLETED


def test_it_has_all_its_restarts_before_it_again() -> None:
    story = failed().when(again(max_restarts=1)).exits(1, code=1)
    assert story.experiment.state is State.ACTIVE
    assert story.exits(1, code=1).experiment.state is State.ERROR


def test_a_single_trial_that_completed_trains_further_when_its_length_is_raised() -> None:
    story = given(created()).starts(1).when(checkpoint("c-100", 100)).exits(1)
    story = story.when(again(max_length={"batches": 200}))
    story.then_kinds(ExperimentContinued, TrialContinued, TrialTargetSet, TrialRunRequested)
    assert story.experiment.trial(1).target == 200
    assert not story.experiment.trial(1).target_reached


def test_a_single_trial_goes_on_with_other_hyperparameters_where_they_are_described_otherwise() -> None:
    drawn = {"type": "double", "minval": 0.0, "maxval": 1.0}
    story = failed(hyperparameters={"kept": drawn, "lr": 0.1, "gone": 1})
    before = story.experiment.trial(1).hparams
    story = story.when(again(max_restarts=0, hyperparameters={"kept": drawn, "lr": 0.5, "added": 2}))
    continued = next(event for event in story.last if isinstance(event, TrialContinued))
    assert continued.hparams == {"kept": before["kept"], "lr": 0.5, "added": 2}
    assert story.experiment.trial(1).hparams == continued.hparams
    described = describe(story.experiment, 1, story.experiment.trial(1).allocation_id or "")
    assert described.hparams == continued.hparams


def test_hyperparameters_that_stay_are_not_told_again() -> None:
    story = failed().when(again(max_restarts=3))
    assert [event.hparams for event in story.last if isinstance(event, TrialContinued)] == [None]


def test_a_search_continues_the_trials_that_did_not_complete_and_makes_those_it_still_wants() -> None:
    story = given(created("random")).exits(1).when(CancelExperiment(ID)).exits(2, "yielded").exits(3, "yielded")
    assert story.experiment.state is State.CANCELED
    story = story.when(again("random"))
    assert [event.trial_id for event in story.last if isinstance(event, TrialContinued)] == [2, 3]
    story = story.exits(2).exits(3)
    assert story.last[-1] == ExperimentEnded("COMPLETED", "all 3 trials have ended")
    assert len(story.experiment.trials) == 3


def test_a_search_canceled_early_still_makes_all_its_trials() -> None:
    story = given(created("random")).when(CancelExperiment(ID)).exits(1, "yielded").exits(2, "yielded")
    story = story.when(again("random")).exits(1)
    assert [event.trial_id for event in story.last if isinstance(event, TrialCreated)] == [3]
    assert story.exits(2).exits(3).experiment.state is State.COMPLETED


def test_no_more_trials_run_at_once_than_before_and_the_others_wait_their_turn() -> None:
    story = given(created("random", max_restarts=0)).exits(1, code=1).exits(2, code=1).exits(3, code=1)
    assert story.experiment.state is State.ERROR
    story = story.when(again("random"))
    assert [event.trial_id for event in story.last if isinstance(event, TrialRunRequested)] == [1, 2]
    assert list(story.experiment.queue) == [3]
    story = story.exits(2)
    assert [event.trial_id for event in story.last if isinstance(event, TrialRunRequested)] == [3]
    assert story.exits(1).exits(3).experiment.state is State.COMPLETED


def test_one_that_waits_its_turn_may_be_killed_and_gives_no_place_away() -> None:
    story = given(created("random", max_restarts=0)).exits(1, code=1).exits(2, code=1).exits(3, code=1)
    story = story.when(again("random")).when(KillTrial(ID, 3))
    assert not [event for event in story.last if isinstance(event, TrialRunRequested)]
    assert story.exits(1).exits(2).experiment.state is State.COMPLETED


def test_pausing_keeps_the_turns() -> None:
    story = given(created("random", max_restarts=0)).exits(1, code=1).exits(2, code=1).exits(3, code=1)
    story = story.when(again("random")).when(PauseExperiment(ID)).exits(1, "yielded").exits(2, "yielded")
    story = story.when(ActivateExperiment(ID))
    assert [event.trial_id for event in story.last if isinstance(event, TrialRunRequested)] == [1, 2]


def test_checkpoints_deleted_meanwhile_are_fallen_back_from() -> None:
    experiment = failed().experiment
    events = continuing.continue_experiment(experiment, again(), gone={"c-20"})
    assert TrialCheckpointLost(1, "c-20", "c-10", 10) in events
    run = events[-1]
    assert isinstance(run, TrialRunRequested)
    assert (run.checkpoint, run.steps_completed) == ("c-10", 10)


def test_what_is_running_archived_or_gone_is_refused_with_a_remedy() -> None:
    given(created()).then_refused(again(), Refused, "it is ACTIVE; wait until it has ended, or cancel it")
    given(created(activate=False)).then_refused(again(), Refused, "it is PAUSED; activate it")
    failed().when(ArchiveExperiment(ID)).then_refused(again(), Refused, "it is archived; unarchive it first")
    failed().when(DeleteExperiment(ID)).then_refused(again(), Refused, "it is DELETING; fork it instead")
    everything = given(created("random")).exits(1).exits(2).exits(3)
    everything.then_refused(again("random"), Refused, "all its trials completed")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"metric": "accuracy"}, "searcher.metric"),
        ({"smaller_is_better": False}, "searcher.smaller_is_better"),
        ({"source_checkpoint_uuid": "another"}, "searcher.source_checkpoint_uuid"),
        ({"checkpoint_storage": {"type": "directory", "container_path": "/else"}}, "checkpoint_storage"),
    ],
)
def test_what_its_trials_were_made_by_stays_as_it_is(changes: dict[str, Any], field: str) -> None:
    failed().then_refused(again(**changes), InvalidConfig, f"{field}: cannot change when an experiment is continued")


def test_a_single_trial_does_not_become_a_search_and_a_search_keeps_its_searcher() -> None:
    failed().then_refused(again("random"), InvalidConfig, "searcher.name: cannot change")
    story = given(created("random")).when(CancelExperiment(ID)).exits(1, "yielded").exits(2, "yielded")
    story.then_refused(again("random", max_trials=9), InvalidConfig, "searcher: cannot change")
    story.then_refused(again("random", hyperparameters={"lr": 1}), InvalidConfig, "hyperparameters: cannot change")


def test_how_many_checkpoints_are_kept_may_change() -> None:
    storage = {"type": "directory", "container_path": "/here", "save_trial_latest": 1}
    story = failed(checkpoint_storage=storage).when(again(checkpoint_storage={**storage, "save_trial_latest": 5}))
    assert story.experiment.config["checkpoint_storage"]["save_trial_latest"] == 5


def test_an_invalid_trial_that_was_replaced_does_not_go_on_whatever_ended_it() -> None:
    story = given(created("random")).when(ReportEarlyExit(ID, 1, "INVALID_HP")).when(KillTrial(ID, 1))
    story = story.exits(1, "killed", 137).when(CancelExperiment(ID)).exits(2, "yielded").exits(3, "yielded")
    story = story.when(again("random"))
    assert [event.trial_id for event in story.last if isinstance(event, TrialContinued)] == [2, 3]
    story = story.exits(2).exits(3).exits(4)
    assert story.experiment.state is State.COMPLETED
    assert sorted(story.experiment.trials) == [1, 2, 3, 4]  # three, and the one that was none


def test_a_search_that_compares_its_trials_is_not_reopened() -> None:
    asha: dict[str, Any] = {"max_trials": 2, "num_rungs": 2, "max_concurrent_trials": 2}
    story = given(created("async_halving", **asha)).when(CancelExperiment(ID)).exits(1, "yielded").exits(2, "yielded")
    story.then_refused(again("async_halving", **asha), Refused, "decided by comparing its trials.*fork it instead")


def test_a_grid_continues_to_its_last_point() -> None:
    axes = {"lr": {"type": "categorical", "vals": [1, 2, 3, 4]}, "global_batch_size": 32}
    grid: dict[str, Any] = {"hyperparameters": axes, "max_concurrent_trials": 2}
    story = given(created("grid", **grid)).exits(1).when(KillTrial(ID, 2)).exits(2, "killed", 137)
    story = story.when(CancelExperiment(ID)).exits(3, "yielded").exits(4, "yielded").when(again("grid", **grid))
    assert [event.trial_id for event in story.last if isinstance(event, TrialRunRequested)] == [2, 3]
    story = story.exits(2).exits(3).exits(4)
    assert story.experiment.state is State.COMPLETED
    assert sorted(one.hparams["lr"] for one in story.experiment.trials.values()) == [1, 2, 3, 4]


def test_what_was_edited_since_the_configuration_was_read_stays_edited() -> None:
    read = config(max_restarts=0)
    story = failed().when(EditExperiment(ID, {"name": "better", "priority": 3})).when(AddLabel(ID, "mine"))
    merged = {**read, "max_restarts": 2, "labels": ["theirs"]}
    story = story.when(ContinueExperiment(ID, merged, overridden=("max_restarts",), labels_added=("theirs",)))
    experiment = story.experiment
    assert (experiment.name, experiment.labels, experiment.settings.priority) == ("better", ["mine", "theirs"], 3)
    assert experiment.settings.max_restarts == 2
    assert "description" not in experiment.config  # what neither has is not made up


def test_a_command_that_does_not_say_what_it_overrides_counts_as_a_whole() -> None:
    story = failed().when(EditExperiment(ID, {"name": "better"})).when(again(max_restarts=0))
    assert story.experiment.name == "digits"

"""An experiment through its life: what is granted in which state, what is refused and why."""

from __future__ import annotations

import itertools

import pytest

from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import (
    ActivateExperiment,
    ArchiveExperiment,
    CancelExperiment,
    ConfirmDeleted,
    DeleteExperiment,
    EditExperiment,
    ExperimentActivated,
    ExperimentArchived,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentMoved,
    ExperimentUnarchived,
    KillExperiment,
    MoveExperiment,
    PauseExperiment,
    SearcherCommand,
    TrialCreated,
    TrialRunRequested,
    TrialTargetSet,
    UnarchiveExperiment,
)
from resolute.proto.states import ExperimentState as State
from resolute.search import user_commands
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given, submission

ID = EXPERIMENT


def ended() -> Story:
    return given(created()).starts(1).exits(1)


def test_a_submission_creates_its_trials_and_asks_for_their_runs() -> None:
    assert [type(event) for event in created("random")] == [
        ExperimentCreated,
        ExperimentActivated,
        *[TrialCreated, TrialTargetSet, TrialRunRequested] * 2,
    ]


def test_a_submission_that_shall_wait_creates_trials_without_runs() -> None:
    assert [type(event) for event in created(activate=False)] == [
        ExperimentCreated,
        TrialCreated,
        TrialTargetSet,
    ]
    story = given(created(activate=False)).when(ActivateExperiment(ID))
    story.then_kinds(ExperimentActivated, TrialRunRequested)


def test_the_same_submission_makes_the_same_trials_and_another_seed_makes_others() -> None:
    same = [user_commands.create(submission(config("random")), 5, itertools.count(1)) for _ in range(2)]
    assert same[0] == same[1]
    other = user_commands.create(submission(config("random"), seed=8), 5, itertools.count(1))
    assert [e.hparams for e in other if isinstance(e, TrialCreated)] != [
        e.hparams for e in same[0] if isinstance(e, TrialCreated)
    ]


def test_tasks_and_allocations_are_named_after_their_experiment_and_run() -> None:
    events = created()
    (trial,) = [e for e in events if isinstance(e, TrialCreated)]
    (run,) = [e for e in events if isinstance(e, TrialRunRequested)]
    assert trial.task_id == f"1.{trial.request_id}"
    assert run.allocation_id == f"{trial.task_id}.1"


def test_a_search_method_that_is_not_offered_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"searcher.name: expected one of single, random, .*; found 'magic'"):
        created("magic")


def test_a_trial_may_begin_from_a_checkpoint_of_another_experiment() -> None:
    (run,) = [e for e in created(source_checkpoint_uuid="c-0") if isinstance(e, TrialRunRequested)]
    assert (run.checkpoint, run.steps_completed) == ("c-0", 0)


def test_what_is_already_so_is_granted_without_an_event() -> None:
    given(created()).when(ActivateExperiment(ID)).then()
    given(created(activate=False)).when(PauseExperiment(ID)).then()
    ended().when(CancelExperiment(ID)).then()
    ended().when(KillExperiment(ID)).then()
    ended().when(UnarchiveExperiment(ID)).then()
    ended().when(MoveExperiment(ID, 1)).then()
    given(created()).when(CancelExperiment(ID)).when(CancelExperiment(ID)).then()
    given(created()).when(KillExperiment(ID)).when(KillExperiment(ID)).then()


@pytest.mark.parametrize(
    ("story", "command", "says"),
    [
        (ended(), PauseExperiment(ID), "cannot pause experiment 1: it is COMPLETED"),
        (ended(), ActivateExperiment(ID), "cannot activate experiment 1: it is COMPLETED"),
        (given(created()), ArchiveExperiment(ID), "it is ACTIVE; wait until it has ended, or cancel it"),
        (given(created()), DeleteExperiment(ID), "it is ACTIVE; wait until it has ended, or cancel it first"),
        (given(created()).when(CancelExperiment(ID)), PauseExperiment(ID), "STOPPING_CANCELED"),
        (ended().when(DeleteExperiment(ID)), EditExperiment(ID, {"name": "x"}), "it is DELETING"),
        (ended().when(DeleteExperiment(ID)), KillExperiment(ID), "it is DELETING"),
    ],
)
def test_what_the_state_forbids_is_refused_by_its_name(story: Story, command: SearcherCommand, says: str) -> None:
    story.then_refused(command, Refused, says)


def test_an_experiment_that_never_was_is_not_found() -> None:
    given([]).then_refused(PauseExperiment(9), NotFound, "no experiment 9")
    given([]).then_refused(DeleteExperiment(9), NotFound, "no experiment 9")


def test_an_ended_experiment_is_archived_and_brought_back() -> None:
    story = ended().when(ArchiveExperiment(ID)).then(ExperimentArchived()).when(ArchiveExperiment(ID)).then()
    story.when(UnarchiveExperiment(ID)).then(ExperimentUnarchived())


def test_deleting_waits_for_the_files_and_can_be_tried_again() -> None:
    story = ended().when(DeleteExperiment(ID)).then(ExperimentDeletionRequested())
    story.when(DeleteExperiment(ID)).then()
    failed = given([*story.events, *user_commands.deletion_failed(story.experiment, "the disk is read-only")])
    assert failed.experiment.state is State.DELETE_FAILED
    again = failed.when(DeleteExperiment(ID)).then(ExperimentDeletionRequested())
    gone = again.when(ConfirmDeleted(ID)).then(ExperimentDeleted())
    gone.when(ConfirmDeleted(ID)).then()
    gone.then_refused(PauseExperiment(ID), NotFound, "no experiment 1")


def test_edits_change_the_configuration_that_later_runs_go_by() -> None:
    changes = {"name": "better", "max_restarts": 0, "priority": 3, "notes": "see the wiki", "save_trial_best": 2}
    story = given(created()).when(EditExperiment(ID, changes)).then(ExperimentEdited(changes))
    experiment = story.experiment
    assert (experiment.name, experiment.notes) == ("better", "see the wiki")
    assert experiment.config["resources"] == {"slots_per_trial": 1, "resource_pool": "default", "priority": 3}
    assert experiment.config["checkpoint_storage"]["save_trial_best"] == 2
    assert experiment.settings.max_restarts == 0
    assert story.starts(1).exits(1, code=1).experiment.state is State.ERROR


def test_a_limit_taken_away_is_no_limit_for_later_runs() -> None:
    story = given(created(resources={"slots_per_trial": 1, "resource_pool": "default", "max_slots": 1}))
    assert story.experiment.settings.max_slots == 1
    story = story.when(EditExperiment(ID, {"max_slots": None})).then(ExperimentEdited({"max_slots": None}))
    assert story.experiment.settings.max_slots is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"max_restarts": -1}, "max_restarts: expected a whole number from 0 to 2147483647; found -1"),
        ({"max_slots": 2**31}, "max_slots: expected a whole number from 0 to 2147483647, or null; found 2147483648"),
        ({"name": "  "}, "name: expected text, not empty"),
        ({"labels": [1]}, "labels: expected a list of words"),
        ({"weight": 0}, "weight: expected a number above 0"),
        ({"searcher": {}}, "searcher: cannot be edited. What can: name, description"),
    ],
)
def test_an_edit_that_makes_no_sense_names_the_field(changes: dict[str, object], says: str) -> None:
    given(created()).then_refused(EditExperiment(ID, changes), InvalidConfig, says)


def test_an_experiment_moves_between_projects() -> None:
    given(created()).when(MoveExperiment(ID, 4)).then(ExperimentMoved(4))

"""What the gateway's rows of experiments come to."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, PROJECTION, Experiment
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentArchived,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentStopping,
    ExperimentUnarchived,
    SearchOperationsPosted,
    SearchProgressed,
    TrialCreated,
)
from resolute.proto.message import Event
from tests.unit.api.folding import Folding, at, columns

CONFIG: dict[str, Any] = {
    "description": "handwritten digits",
    "labels": ["mnist", "night"],
    "searcher": {"name": "random", "metric": "loss", "smaller_is_better": False},
    "resources": {"resource_pool": "gpus", "slots_per_trial": 1},
    "retention_policy": {"log_retention_days": 5},
}


def created(config: dict[str, Any] = CONFIG) -> ExperimentCreated:
    return ExperimentCreated(7, "job-7", "digits", config, "name: digits", 2, "determined", 3, 11)


def after(*events: Event, config: dict[str, Any] = CONFIG, actor: str = "someone") -> Folding:
    folding = Folding(PROJECTION, "experiment-7")
    folding.given(created(config), *events, actor=actor)
    return folding


def experiment(*events: Event) -> Experiment:
    return after(*events).row(EXPERIMENTS, 7)


def config(*edits: dict[str, Any], of: dict[str, Any] = CONFIG) -> Any:
    return after(*map(ExperimentEdited, edits), config=of).row(CONFIGS, 7).config


def test_a_new_experiment_shows_what_its_configuration_says() -> None:
    assert experiment() == Experiment(
        id=7,
        job_id="job-7",
        name="digits",
        description="handwritten digits",
        labels=("mnist", "night"),
        owner_id=2,
        owner="determined",
        project_id=3,
        searcher_type="random",
        searcher_metric="loss",
        smaller_is_better=False,
        resource_pool="gpus",
        state="PAUSED",
        started_at=at(1),
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=5,
    )
    shown = after().row(CONFIGS, 7)
    assert (shown.config, shown.original_config) == (CONFIG, "name: digits")


def test_sections_that_a_configuration_leaves_out_are_shown_as_empty() -> None:
    bare = after(config={"searcher": None, "labels": None}).row(EXPERIMENTS, 7)
    assert columns(bare, "description", "labels", "searcher_type", "resource_pool") == ("", (), "", "")
    assert columns(bare, "smaller_is_better", "log_retention_days") == (True, None)


def test_a_pause_names_the_person_who_asked_for_it_until_the_experiment_goes_on() -> None:
    paused = after(ExperimentPaused(), actor="alice")
    assert columns(paused.row(EXPERIMENTS, 7), "state", "reason") == ("PAUSED", "paused by alice")
    paused.given(ExperimentActivated())
    assert columns(paused.row(EXPERIMENTS, 7), "state", "reason") == ("ACTIVE", "")


def test_an_experiment_stops_and_then_ends() -> None:
    stopping = after(ExperimentActivated(), ExperimentStopping("KILLED", "killed by alice"))
    assert columns(stopping.row(EXPERIMENTS, 7), "state", "reason") == ("STOPPING_KILLED", "killed by alice")
    stopping.given(ExperimentEnded("CANCELED", "killed"))
    assert columns(stopping.row(EXPERIMENTS, 7), "state", "reason", "ended_at") == ("CANCELED", "killed", at(4))


def test_a_continued_experiment_is_active_again_with_its_new_configuration() -> None:
    new = {"name": "longer", "labels": ["day"], "resources": {"resource_pool": "cpus"}}
    folding = after(ExperimentEnded("ERROR", "it broke"), ExperimentContinued(new, (1,)))
    shown = folding.row(EXPERIMENTS, 7)
    assert columns(shown, "state", "reason", "ended_at") == ("ACTIVE", "", None)
    assert columns(shown, "name", "description", "labels") == ("longer", "", ("day",))
    assert columns(shown, "resource_pool", "log_retention_days") == ("cpus", None)
    assert folding.row(CONFIGS, 7).config == new
    assert folding.row(CONFIGS, 7).original_config == "name: digits"


def test_an_experiment_is_archived_and_taken_out_of_the_archive() -> None:
    assert experiment(ExperimentArchived()).archived
    assert not experiment(ExperimentArchived(), ExperimentUnarchived()).archived


def test_an_experiment_moves_to_another_project() -> None:
    assert experiment(ExperimentMoved(9)).project_id == 9


def test_edits_change_the_columns_and_the_configuration() -> None:
    edits = {"name": "renamed", "notes": "a note", "labels": ["b", "a"], "priority": 10, "log_retention_days": -1}
    folding = after(ExperimentEdited(edits))
    shown, whole = folding.row(EXPERIMENTS, 7), folding.row(CONFIGS, 7).config
    assert columns(shown, "name", "notes", "labels", "log_retention_days") == ("renamed", "a note", ("b", "a"), -1)
    assert (whole["name"], whole["labels"]) == ("renamed", ["b", "a"])
    assert whole["resources"] == {"resource_pool": "gpus", "slots_per_trial": 1, "priority": 10}
    assert whole["retention_policy"] == {"log_retention_days": -1}
    assert "notes" not in whole


def test_an_edit_keeps_what_else_stands_in_its_section() -> None:
    edited = config({"max_slots": 4}, {"weight": 2.5})
    assert edited["resources"] == {"resource_pool": "gpus", "slots_per_trial": 1, "max_slots": 4, "weight": 2.5}


@pytest.mark.parametrize("section", [None, 7, [1], "text", {}])
def test_an_edit_makes_an_object_of_the_section_that_it_belongs_to(section: Any) -> None:
    assert config({"save_trial_best": 1})["checkpoint_storage"] == {"save_trial_best": 1}
    edited = config({"save_trial_best": 1}, of=CONFIG | {"checkpoint_storage": section})
    assert edited["checkpoint_storage"] == {"save_trial_best": 1}


def test_an_edit_may_set_null() -> None:
    assert config({"max_slots": 4}, {"max_slots": None})["resources"]["max_slots"] is None


def test_an_edit_leaves_the_configuration_in_the_event_as_it_was() -> None:
    before = {"resources": {"weight": 1.0}}
    config({"weight": 2.0}, of=before)
    assert before == {"resources": {"weight": 1.0}}


def test_edits_of_fields_that_this_release_does_not_know_change_nothing() -> None:
    assert config({"a field of a later release": 1}) == CONFIG


def test_the_last_progress_that_a_client_of_a_custom_search_posts_is_shown() -> None:
    shutdown: dict[str, Any] = {"type": "shutdown"}
    posted = ({"type": "set_progress", "progress": 0.1}, shutdown, {"type": "set_progress", "progress": 0.7})
    assert experiment(SearchOperationsPosted(posted)).search_progress == 0.7
    silent = SearchOperationsPosted((shutdown,))
    assert experiment(SearchProgressed(0.25), silent).search_progress == 0.25


def test_a_deletion_that_fails_says_why() -> None:
    deleting = after(ExperimentDeletionRequested())
    assert deleting.row(EXPERIMENTS, 7).state == "DELETING"
    deleting.given(ExperimentDeletionFailed("the disk is read-only"))
    assert columns(deleting.row(EXPERIMENTS, 7), "state", "reason") == ("DELETE_FAILED", "the disk is read-only")


def test_nothing_is_shown_of_a_deleted_experiment_and_what_is_recorded_later_changes_nothing() -> None:
    gone = after(ExperimentDeleted())
    later = [ExperimentArchived(), ExperimentEdited({"weight": 2.0, "name": "x"}), ExperimentContinued(CONFIG, ())]
    gone.given(*later, SearchProgressed(0.5), ExperimentEnded("ERROR", ""), ExperimentDeleted())
    assert gone.count() == {"experiments": 0, "experiment_configs": 0}


def test_events_of_trials_change_no_row_of_experiments() -> None:
    assert experiment(TrialCreated(1, "r1", "7.1", {}, 5)) == experiment()

"""Which experiments the filters of an action on many mean."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.experiments.action_messages import Filters
from resolute.api.experiments.actions import MEANT_FOR
from resolute.api.experiments.changing import RETENTION
from resolute.api.experiments.choosing import ALL_PROJECTS, MeantFor, wanted_by
from resolute.api.experiments.queries import Wanted
from resolute.proto.experiment import (
    ActivateExperiment,
    ArchiveExperiment,
    CancelExperiment,
    DeleteExperiment,
    KillExperiment,
    PauseExperiment,
    UnarchiveExperiment,
)

LIVING = ["ACTIVE", "PAUSED", "STOPPING_CANCELED", "STOPPING_COMPLETED", "STOPPING_ERROR", "STOPPING_KILLED"]
ENDED = ["CANCELED", "COMPLETED", "ERROR"]


def wanted(filters: dict[str, Any], meant_for: MeantFor, project_id: int = ALL_PROJECTS) -> Wanted:
    found = wanted_by(Filters.model_validate(filters), project_id, meant_for)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("action", "states"),
    [
        (ActivateExperiment, ["PAUSED"]),
        (PauseExperiment, ["ACTIVE"]),
        (CancelExperiment, LIVING),
        (KillExperiment, LIVING),
        (ArchiveExperiment, ENDED),
        (UnarchiveExperiment, ENDED),
        (DeleteExperiment, sorted([*ENDED, "DELETE_FAILED"])),
    ],
)
def test_filters_without_states_find_those_that_the_action_is_meant_for(action: Any, states: list[str]) -> None:
    assert wanted({}, MEANT_FOR[action]).states == states


def test_filters_with_states_find_just_these() -> None:
    found = wanted({"states": ["STATE_ERROR", "STATE_RUNNING"]}, MEANT_FOR[ActivateExperiment])
    assert found.states == ["ACTIVE", "ERROR"]


@pytest.mark.parametrize("meant_for", [MEANT_FOR[PauseExperiment], MEANT_FOR[KillExperiment], RETENTION])
def test_archived_experiments_are_hidden_from_what_steers_them(meant_for: MeantFor) -> None:
    assert wanted({}, meant_for).archived is False
    assert wanted({"archived": False}, meant_for).archived is False
    assert wanted_by(Filters(archived=True), ALL_PROJECTS, meant_for) is None


@pytest.mark.parametrize(("action", "archived"), [(ArchiveExperiment, False), (UnarchiveExperiment, True)])
def test_archiving_finds_what_is_in_sight_and_unarchiving_what_is_not(action: Any, archived: bool) -> None:
    assert wanted({}, MEANT_FOR[action]).archived is archived
    assert wanted({"archived": not archived}, MEANT_FOR[action]).archived is not archived


def test_the_project_of_the_path_and_the_one_of_the_filters_must_both_hold() -> None:
    everywhere = MeantFor()
    assert wanted({"projectId": 3}, everywhere).project_id == 3
    assert wanted({"projectId": 3}, everywhere, project_id=3).project_id == 3
    assert wanted({}, everywhere, project_id=2).project_id == 2
    assert wanted({"projectId": ALL_PROJECTS}, everywhere).project_id == 0
    assert wanted_by(Filters(project_id=3), 2, everywhere) is None
    assert wanted_by(Filters(), 0, everywhere) is None, "there is no project 0, and it does not mean all of them"


def test_every_filter_narrows_what_is_found() -> None:
    filters = {
        "name": "mnist",
        "description": "of digits",
        "labels": ["a", "b"],
        "userIds": [7],
        "excludedExperimentIds": [5, 6],
    }
    found = wanted(filters, MeantFor(), project_id=2)
    assert (found.name_part, found.description_part) == ("mnist", "of digits")
    assert (list(found.labels), list(found.owner_ids), list(found.excluded_ids)) == (["a", "b"], [7], [5, 6])

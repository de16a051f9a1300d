"""Which experiments the filters of an action on many mean."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.handlers.chosen import ALL_PROJECTS, MeantFor, found_by
from resolute.api.handlers.experiment_actions import MEANT_FOR, RETENTION
from resolute.api.scope import UNLIMITED
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


def conditions(filters: dict[str, Any], meant_for: MeantFor, project_id: int = ALL_PROJECTS) -> tuple[str, list[Any]]:
    where = found_by(UNLIMITED, filters, project_id, meant_for)
    return where.sql, where.args


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
    sql, args = conditions({}, MEANT_FOR[action])
    assert "e.state = ANY" in sql
    assert states in args


def test_filters_with_states_find_just_these() -> None:
    _, args = conditions({"states": ["STATE_ERROR", "STATE_RUNNING"]}, MEANT_FOR[ActivateExperiment])
    assert args == [["ACTIVE", "ERROR"]]


@pytest.mark.parametrize("meant_for", [MEANT_FOR[PauseExperiment], MEANT_FOR[KillExperiment], RETENTION])
def test_archived_experiments_are_hidden_from_what_steers_them(meant_for: MeantFor) -> None:
    assert "NOT e.archived" in conditions({"archived": True}, meant_for)[0]


@pytest.mark.parametrize(("action", "archived"), [(ArchiveExperiment, False), (UnarchiveExperiment, True)])
def test_archiving_finds_what_is_in_sight_and_unarchiving_what_is_not(action: Any, archived: bool) -> None:
    assert conditions({}, MEANT_FOR[action])[1][0] is archived
    assert conditions({"archived": not archived}, MEANT_FOR[action])[1][0] is not archived


def test_the_project_of_the_path_and_the_one_of_the_filters_must_both_hold() -> None:
    sql, args = conditions({"projectId": 3}, MeantFor(), project_id=2)
    assert sql.count("e.project_id = ") == 2
    assert args[:2] == [2, 3]
    assert "e.project_id" not in conditions({"projectId": ALL_PROJECTS}, MeantFor())[0]

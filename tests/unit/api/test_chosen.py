"""Which experiments the filters of an action on many mean."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from resolute.api.call import Call
from resolute.api.experiments.action_messages import Filters, KillExperiments, ToKill
from resolute.api.experiments.actions import MEANT_FOR
from resolute.api.experiments.changing import RETENTION
from resolute.api.experiments.choosing import ALL_PROJECTS, Chosen, MeantFor, chosen, wanted_by
from resolute.api.experiments.memory import MemoryExperiments
from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.experiments.queries import QUERIES, Wanted
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import memory_rows
from resolute.api.kernel.ports import Ports
from resolute.api.scope import UNLIMITED
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
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


def experiment(id_: int, project_id: int, *, archived: bool = False) -> Experiment:
    return Experiment(
        id=id_,
        job_id="job",
        name="digits",
        description="",
        labels=(),
        owner_id=1,
        owner="ann",
        project_id=project_id,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=True,
        resource_pool="main",
        state="PAUSED",
        started_at=datetime(2026, 1, 31, 12, 0, tzinfo=UTC),
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=None,
        archived=archived,
    )


def a_call() -> Call:
    """Of somebody who sees everything, at a gateway with three experiments in two projects."""
    rows = memory_rows((USERS, WORKSPACES, PROJECTS, EXPERIMENTS))
    rows.put(WORKSPACES, Workspace(1, "Uncategorized", 1, immutable=True))
    for project_id in (1, 2):
        rows.put(PROJECTS, Project(project_id, 1, f"project {project_id}", "", 1, immutable=False))
    for one in (experiment(1, 1), experiment(2, 2), experiment(3, 1, archived=True)):
        rows.put(EXPERIMENTS, one)

    async def catch_up() -> None:
        """There is nothing newer."""

    gateway = SimpleNamespace(
        ports=Ports(cast(Any, None), {QUERIES: MemoryExperiments(rows)}), read=SimpleNamespace(catch_up=catch_up)
    )
    return cast(Call, SimpleNamespace(gateway=gateway, scope=UNLIMITED))


async def killed(body: dict[str, Any], project_id: int = ALL_PROJECTS) -> Chosen:
    request = KillExperiments(project_id=project_id, body=ToKill.model_validate(body))
    return await chosen(a_call(), request, MEANT_FOR[KillExperiment])


async def test_those_that_are_named_are_acted_on_once_each_and_in_their_order() -> None:
    found = await killed({"experimentIds": [2, 1, 2]})
    assert (found.ids, found.refused) == ((2, 1), {})


async def test_what_is_named_and_cannot_be_acted_on_is_answered_by_its_reason() -> None:
    found = await killed({"experimentIds": [3, 1, 9]})
    assert found.ids == (1,)
    assert found.refused == {
        3: "experiment 3 not found: it is archived; unarchive it first",
        9: "experiment 9 not found",
    }


@pytest.mark.parametrize(("project_id", "ids"), [(1, (1,)), (2, (2,)), (0, ()), (9, ())])
async def test_of_those_that_are_named_only_those_of_the_project_are_acted_on(
    project_id: int, ids: tuple[int, ...]
) -> None:
    found = await killed({"experimentIds": [1, 2]}, project_id)
    assert found.ids == ids
    assert all(why.endswith(f"not found in project {project_id}") for why in found.refused.values())


@pytest.mark.parametrize("nothing", [{}, {"name": None, "archived": None}, {"unknown": 1}])
async def test_an_empty_filter_beside_numbers_is_no_filter(nothing: dict[str, Any]) -> None:
    assert (await killed({"experimentIds": [1], "filters": nothing})).ids == (1,)
    assert list((await killed({"filters": nothing})).ids) == [1, 2]


async def test_where_there_are_filters_they_alone_decide() -> None:
    found = await killed({"experimentIds": [1], "filters": {"excludedExperimentIds": [1]}})
    assert (list(found.ids), found.refused) == ([2], {})

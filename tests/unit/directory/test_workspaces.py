"""Workspaces and projects: what may be done with them."""

from __future__ import annotations

from functools import reduce

import pytest

from resolute.directory import workspaces
from resolute.directory.spaces import Workspaces
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.identity import (
    ChangeWorkspace,
    CreateProject,
    CreateWorkspace,
    ProjectCreated,
    WorkspaceChanged,
    WorkspaceCreated,
)
from resolute.proto.message import Event
from resolute.proto.spaces import WorkspacePinned


def some_workspaces() -> Workspaces:
    events = [*workspaces.FIRST, WorkspaceCreated(2, "vision", 2), WorkspaceChanged(2, {"default_compute_pool": "big"})]
    return reduce(workspaces.evolve, events, Workspaces())


def project(workspace_id: int, name: str) -> list[Event]:
    return workspaces.decide(CreateProject(workspace_id, name, "", 2), some_workspaces())


def test_a_new_cluster_has_a_workspace_and_an_old_one_is_left_as_it_is() -> None:
    assert workspaces.seed(Workspaces()) == workspaces.FIRST
    assert workspaces.seed(some_workspaces()) == ()


def test_projects_belong_to_a_workspace_that_takes_them() -> None:
    [created] = project(2, "digits")
    assert isinstance(created, ProjectCreated)
    assert created == ProjectCreated(2, 2, "digits", "", 2, key=created.key)
    assert created.key.startswith("DIG")
    assert len(created.key) == 5
    with pytest.raises(Refused):
        project(1, "digits")
    with pytest.raises(NotFound):
        project(5, "digits")


@pytest.mark.parametrize("name", ["vision", "Vision"])
def test_two_workspaces_never_share_a_name(name: str) -> None:
    with pytest.raises(Refused, match="avoid names equal to other workspaces"):
        workspaces.decide(CreateWorkspace(name, 2), some_workspaces())


def test_a_name_is_not_blank() -> None:
    with pytest.raises(InvalidConfig, match="name"):
        workspaces.decide(CreateWorkspace(" ", 2), some_workspaces())


def test_only_what_changes_is_written() -> None:
    same = ChangeWorkspace(2, {"name": "vision", "default_compute_pool": "big", "default_aux_pool": ""})
    assert workspaces.decide(same, some_workspaces()) == []
    taken_away = ChangeWorkspace(2, {"name": "Vision", "default_compute_pool": ""})
    assert workspaces.decide(taken_away, some_workspaces()) == [
        WorkspaceChanged(2, {"name": "Vision", "default_compute_pool": ""})
    ]
    with pytest.raises(Refused, match="is immutable"):
        workspaces.decide(ChangeWorkspace(1, {"name": "mine"}), some_workspaces())


def test_the_user_who_creates_a_workspace_has_it_pinned() -> None:
    assert workspaces.decide(CreateWorkspace("sound", 7), some_workspaces()) == [
        WorkspaceCreated(3, "sound", 7),
        WorkspacePinned(3, 7),
    ]

"""What the gateway's rows of workspaces and projects come to."""

from __future__ import annotations

import pytest

from resolute.api.workspaces.projection import PROJECTION, PROJECTS, WORKSPACES, Project, Workspace
from resolute.proto.identity import ProjectCreated, WorkspaceChanged, WorkspaceCreated
from tests.unit.api.folding import Folding, columns

STORAGE = {"type": "s3", "bucket": "checkpoints"}


def story() -> Folding:
    return Folding(PROJECTION, "workspace-directory")


def with_a_workspace() -> Folding:
    fold = story()
    fold.given(WorkspaceCreated(2, "vision", 3))
    return fold


def test_a_new_workspace_has_no_settings() -> None:
    assert with_a_workspace().all(WORKSPACES) == [Workspace(2, "vision", 3, immutable=False)]


def test_a_workspace_is_changed_by_the_columns_that_are_named_and_no_others() -> None:
    fold = with_a_workspace()
    fold.given(WorkspaceChanged(2, {"checkpoint_storage": STORAGE, "default_aux_pool": "aux"}))
    fold.given(WorkspaceChanged(2, {"name": "sight", "default_compute_pool": "gpus", "owner_id": 9}))
    assert columns(
        fold.row(WORKSPACES, 2), "name", "owner_id", "checkpoint_storage", "default_compute_pool", "default_aux_pool"
    ) == ("sight", 3, STORAGE, "gpus", "aux")


@pytest.mark.parametrize("document", ["agent_user_group", "checkpoint_storage"])
@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_setting_takes_the_setting_away(document: str, empty: object) -> None:
    fold = with_a_workspace()
    fold.given(WorkspaceChanged(2, {document: STORAGE}))
    assert columns(fold.row(WORKSPACES, 2), document) == (STORAGE,)
    fold.given(WorkspaceChanged(2, {document: empty}))
    assert columns(fold.row(WORKSPACES, 2), document) == (None,)


def test_a_workspace_has_projects() -> None:
    fold = with_a_workspace()
    fold.given(ProjectCreated(5, 2, "cats", "pictures of cats", 3), ProjectCreated(6, 2, "dogs", "", 4, immutable=True))
    assert fold.all(PROJECTS) == [
        Project(5, 2, "cats", "pictures of cats", 3, immutable=False, key="P5"),
        Project(6, 2, "dogs", "", 4, immutable=True, key="P6"),
    ]


def test_a_workspace_that_is_not_known_is_not_changed() -> None:
    fold = story()
    fold.given(WorkspaceChanged(2, {"name": "sight"}), WorkspaceChanged(2, {"shoe_size": 38}))
    assert fold.count() == {"workspaces": 0, "projects": 0, "pins": 0}

"""What the built-in roles permit, on the cluster and on workspaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.config.authz import Authz
from resolute.config.master import parse_master
from resolute.config.rights import CLUSTER_ONLY, EVERYWHERE, ROLES, Permission, Rights
from resolute.proto.errors import InvalidConfig

WORKSPACES = st.one_of(st.none(), st.integers(1, 4))
RIGHTS = st.frozensets(st.tuples(st.sampled_from(sorted(ROLES)), WORKSPACES), max_size=6).map(Rights)


def role(name: str) -> frozenset[Permission]:
    return next(role for role in ROLES.values() if role.name == name).permissions


def test_the_cluster_administrator_has_all_60_permissions() -> None:
    assert len(ROLES[1].permissions) == len(Permission) == 60


def test_the_roles_that_fit_a_workspace_have_no_permission_of_the_cluster_alone() -> None:
    fitting = {role.name for role in ROLES.values() if role.may_be_on_a_workspace}
    assert fitting == {
        *("WorkspaceAdmin", "Viewer", "Editor", "ModelRegistryViewer"),
        *("EditorRestricted", "EditorProjectRestricted"),
    }


def test_an_administrator_of_a_workspace_may_not_choose_the_user_of_its_tasks() -> None:
    """He could run as anybody on the agents' hosts."""
    assert Permission.SET_WORKSPACE_AGENT_USER_GROUP not in role("WorkspaceAdmin")


def test_an_editor_may_do_what_a_viewer_may() -> None:
    assert role("Viewer") < role("Editor") < role("WorkspaceAdmin") < role("ClusterAdmin")


@pytest.mark.parametrize(
    ("name", "less"),
    [
        ("EditorRestricted", {Permission.CREATE_NSC, Permission.UPDATE_NSC}),
        ("EditorProjectRestricted", {Permission.CREATE_PROJECT, Permission.UPDATE_PROJECT}),
    ],
)
def test_a_restricted_editor_lacks_two_permissions(name: str, less: set[Permission]) -> None:
    assert role("Editor") - role(name) == less


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        (Permission.VIEW_NSC, "view notebooks/shells/commands"),
        (Permission.CREATE_EXPERIMENT, "create experiment"),
        (Permission.VIEW_CLUSTER_USAGE, "view detailed cluster usage"),
    ],
)
def test_a_permission_has_words_for_people(permission: Permission, words: str) -> None:
    assert permission.words == words


def test_a_role_on_a_workspace_counts_there_alone() -> None:
    rights = Rights(frozenset({(4, 7)}))

    assert rights.may(Permission.VIEW_PROJECT, 7)
    assert not rights.may(Permission.VIEW_PROJECT, 8)
    assert not rights.may(Permission.VIEW_PROJECT, None)
    assert rights.may_anywhere(Permission.VIEW_PROJECT)
    assert rights.workspaces_with(Permission.VIEW_PROJECT) == frozenset({7})


def test_a_role_on_the_cluster_counts_everywhere() -> None:
    rights = Rights(frozenset({(4, 7), (4, None)}))

    assert rights.may(Permission.VIEW_PROJECT, 8)
    assert rights.may(Permission.VIEW_PROJECT, None)
    assert rights.workspaces_with(Permission.VIEW_PROJECT) is EVERYWHERE


def test_nobody_may_do_anything_without_a_role() -> None:
    assert not any(Rights().may_anywhere(permission) for permission in Permission)


@given(RIGHTS, RIGHTS, st.sampled_from(Permission), WORKSPACES)
def test_roles_add_up(one: Rights, other: Rights, permission: Permission, workspace_id: int | None) -> None:
    both = Rights(one.assignments | other.assignments)
    expected = one.may(permission, workspace_id) or other.may(permission, workspace_id)
    assert both.may(permission, workspace_id) is expected


@given(RIGHTS, st.sampled_from(sorted(CLUSTER_ONLY)), st.integers(1, 4))
def test_what_is_for_the_cluster_alone_comes_of_a_role_on_the_cluster(
    rights: Rights, permission: Permission, workspace_id: int
) -> None:
    fitting = Rights(frozenset(one for one in rights.assignments if ROLES[one[0]].may_be_on_a_workspace))
    assert not fitting.may(permission, workspace_id)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({}, False),
        ({"type": "rbac"}, True),
        ({"rbac_ui_enabled": True}, True),
        ({"type": "rbac", "rbac_ui_enabled": False}, False),
    ],
)
def test_clients_show_roles_where_they_count_unless_the_configuration_says_otherwise(
    said: dict[str, object], shown: bool
) -> None:
    assert Authz.model_validate(said).shows_roles is shown


def test_creators_of_workspaces_administrate_them_unless_the_configuration_says_otherwise() -> None:
    def given(said: dict[str, object]) -> int | None:
        return Authz.model_validate({"workspace_creator_assign_role": said}).workspace_creator_assign_role.given

    assert (given({}), given({"role_id": 5}), given({"enabled": False})) == (2, 5, None)


def test_creators_cannot_get_a_role_of_the_cluster() -> None:
    with pytest.raises(InvalidConfig, match=r"role_id: expected the id of a role that can be held on.*found 1"):
        parse_master({"security": {"authz": {"workspace_creator_assign_role": {"role_id": 1}}}})


def test_the_queue_is_left_to_a_role_only_where_roles_count() -> None:
    with pytest.raises(InvalidConfig, match="strict_job_queue_control needs type: rbac"):
        parse_master({"security": {"authz": {"strict_job_queue_control": True}}})
    strict = {"type": "rbac", "strict_job_queue_control": True}
    assert parse_master({"security": {"authz": strict}}).security.authz.enforces_roles

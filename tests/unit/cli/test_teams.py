"""Groups and roles on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Det = Callable[..., Any]

ADA = {"id": 3, "username": "ada", "displayName": "Ada", "admin": False, "active": True, "agentUserGroup": None}
BOTH, CLUSTER = {"cluster": True, "workspace": True}, {"cluster": True, "workspace": False}
VIEWER = {
    "roleId": 4,
    "name": "Viewer",
    "scopeTypeMask": BOTH,
    "permissions": [{"id": "PERMISSION_TYPE_VIEW_PROJECT", "name": "view project", "scopeTypeMask": BOTH}],
}
ADMIN = {"roleId": 1, "name": "ClusterAdmin", "scopeTypeMask": CLUSTER, "permissions": []}
ON_VISION = {"role": {"roleId": 4, "name": "Viewer"}, "scopeWorkspaceId": 2, "scopeCluster": False}
ON_CLUSTER = {"role": {"roleId": 4, "name": "Viewer"}, "scopeCluster": True}
HELD = {
    "role": VIEWER,
    "userRoleAssignments": [{"userId": 3, "roleAssignment": ON_VISION}],
    "groupRoleAssignments": [{"groupId": 7, "roleAssignment": ON_CLUSTER}],
}
SUMMARY = {
    "roles": [VIEWER],
    "assignments": [{"roleId": 4, "scopeCluster": True, "scopeWorkspaceIds": [2]}],
}


@pytest.fixture
def known(master: Any) -> Any:
    def groups(asked: Any) -> Any:
        found = [{"group": {"groupId": 7, "name": "vision"}, "numMembers": 1}]
        matching = found if asked.body.get("name", "vision") == "vision" else []
        return {"groups": matching, "pagination": {"endIndex": len(matching), "total": len(matching)}}

    page = {"endIndex": 1, "total": 1}
    master.on("POST /api/v1/groups/search", groups)
    master.on("POST /api/v1/groups", {"group": {"groupId": 7, "name": "vision", "users": []}})
    master.on("GET /api/v1/groups/7", {"group": {"groupId": 7, "name": "vision", "users": [ADA]}})
    master.on("PUT /api/v1/groups/7", {"group": {"groupId": 7, "name": "vision", "users": []}})
    master.on("DELETE /api/v1/groups/7", {})
    master.on("GET /api/v1/users/ada/by-username", {"user": ADA})
    master.on("GET /api/v1/users/bob/by-username", {"user": {**ADA, "id": 4, "username": "bob"}})
    master.on("GET /api/v1/users", {"users": [ADA], "pagination": page})
    master.on("GET /api/v1/workspaces", {"workspaces": [{"id": 2, "name": "vision"}], "pagination": page})
    master.on("POST /api/v1/roles/search", {"roles": [ADMIN, VIEWER], "pagination": {"endIndex": 2, "total": 2}})
    master.on("POST /api/v1/roles/search/by-ids", {"roles": [HELD]})
    master.on("GET /api/v1/roles/search/by-user/3", {"roles": [HELD]})
    master.on("GET /api/v1/roles/search/by-group/7", SUMMARY)
    master.on("GET /api/v1/permissions/summary", SUMMARY)
    master.on("POST /api/v1/roles/add-assignments", {})
    master.on("POST /api/v1/roles/remove-assignments", {})
    master.on("GET /api/v1/master", {"rbacEnabled": True})
    return master


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if "-+-" not in line]


def test_groups_are_listed_and_described(known: Any, det: Det) -> None:
    assert cells(det("user-group").out) == [["Groupid", "Name", "Nummembers"], ["7", "vision", "1"]]
    det("user-group ls --groups-user-belongs-to ada --limit 5")
    assert known.last("POST /api/v1/groups/search").body == {"userId": 3, "limit": 5, "offset": 0}
    described = cells(det("user-group describe vision").out)
    assert described[0] == ["Group vision (ID 7)"]
    assert described[2][:3] == ["3", "ada", "Ada"]
    assert json.loads(det("user-group describe vision --json").out)["users"] == [ADA]
    assert "group 'sound' not found" in det("user-group describe sound").err


def test_a_group_is_made_changed_and_deleted(known: Any, det: Det) -> None:
    assert det("user-group create vision --add-user ada,bob --add-user ada").out == "Created group vision (ID 7)\n"
    assert known.last("POST /api/v1/groups").body == {"name": "vision", "addUsers": [3, 4]}
    assert det("user-group add-user vision ada,bob").out == "Added 2 users to group vision\n"
    assert known.last("PUT /api/v1/groups/7").body == {"groupId": 7, "addUsers": [3, 4]}
    assert det("user-group remove-user vision ada").out == "Removed 1 user from group vision\n"
    assert known.last("PUT /api/v1/groups/7").body == {"groupId": 7, "removeUsers": [3]}
    assert "which users?" in det("user-group add-user vision ,").err
    assert det("user-group change-name vision images").out == "Group vision is now images\n"
    assert "say --yes" in det("user-group delete vision").err
    assert det("user-group delete vision --yes").out == "Deleted group vision (ID 7)\n"


def test_whoever_says_no_keeps_the_group(known: Any, det: Det, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["maybe", "n"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    out = det("user-group delete vision").out
    assert out == "Please respond with 'y'/'yes' or 'n'/'no'\nSkipping group deletion.\n"
    assert not [one for one in known.asked if one.method == "DELETE"]


def test_roles_are_listed(known: Any, det: Det) -> None:
    headers = ["Id", "Name", "Scopetypemask"]
    viewer = ["4", "Viewer", "cluster, workspace"]
    assert cells(det("rbac").out) == [headers, ["1", "ClusterAdmin", "cluster"], viewer]
    assert cells(det("rbac list-roles --exclude-global-roles").out) == [headers, viewer]
    assert json.loads(det("rbac list-roles --json").out) == [ADMIN, VIEWER]


def test_a_role_is_described_with_those_who_hold_it(known: Any, det: Det) -> None:
    lines = cells(det("rbac describe-role Viewer").out)
    assert ["7", "vision", "", "", "True"] in lines
    assert ["3", "ada", "2", "vision", "False"] in lines
    assert json.loads(det("rbac describe-role Viewer --json").out) == [HELD]
    assert "role 'Boss' not found; there are ClusterAdmin, Viewer" in det("rbac describe-role Boss").err


def test_the_roles_of_users_and_groups_are_shown(known: Any, det: Det) -> None:
    lines = cells(det("rbac list-users-roles ada").out)
    assert lines[1:] == [
        ["Viewer", "4", "True", "", "", "False", "vision", "2"],
        ["Viewer", "4", "False", "vision", "7", "True", "", ""],
    ]
    of_group = cells(det("rbac list-groups-roles vision").out)
    assert of_group[0] == ["Role Viewer (ID 4):"]
    assert of_group[2:] == [["True", "", ""], ["False", "2", "vision"]]
    for words in ("rbac list-users-roles ada --json", "rbac list-groups-roles vision --json"):
        assert json.loads(det(words).out)
    known.on("GET /api/v1/roles/search/by-group/7", {"roles": [], "assignments": []})
    assert det("rbac list-groups-roles vision").out == "Group vision holds no role.\n"


def test_ones_own_permissions_are_shown_by_where_they_count(known: Any, det: Det) -> None:
    lines = cells(det("rbac my-permissions").out)
    permission = ["PERMISSION_TYPE_VIEW_PROJECT", "view project", "cluster, workspace"]
    headers = ["Id", "Name", "Scopetypemask"]
    assert lines == [
        ["On the whole cluster:"], headers, permission,
        ["On workspace vision (ID 2):"], headers, permission,
    ]  # fmt: skip
    assert json.loads(det("rbac my-permissions --json").out) == SUMMARY
    known.on("GET /api/v1/permissions/summary", {"roles": [], "assignments": []})
    assert det("rbac my-permissions").out == "You hold no role.\n"


def test_a_role_is_assigned_and_removed(known: Any, det: Det) -> None:
    said = det("rbac assign-role Viewer -w vision -u ada")
    assert (said.out, said.err) == ("Assigned role Viewer of user ada on workspace vision\n", "")
    assert known.last("POST /api/v1/roles/add-assignments").body == {
        "userRoleAssignments": [{"userId": 3, "roleAssignment": {"role": {"roleId": 4}, "scopeWorkspaceId": 2}}]
    }
    said = det("rbac unassign-role Viewer -g vision")
    assert said.out == "Removed role Viewer of group vision on the whole cluster\n"
    assert known.last("POST /api/v1/roles/remove-assignments").body == {
        "groupRoleAssignments": [{"groupId": 7, "roleAssignment": {"role": {"roleId": 4}, "scopeCluster": True}}]
    }
    for words in ("rbac assign-role Viewer", "rbac assign-role Viewer -u ada -g vision"):
        assert "whose role?" in det(words).err


def test_whoever_assigns_a_role_where_roles_do_not_count_is_told(known: Any, det: Det) -> None:
    known.on("GET /api/v1/master", {"rbacEnabled": False})
    assert "roles do not decide yet" in det("rbac assign-role Viewer -u ada").err

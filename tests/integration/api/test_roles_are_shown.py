"""Where roles decide: who sees which groups and roles, and who may assign roles where."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from resolute.config.authz import Authz
from tests.integration.api.running import Client, running
from tests.integration.api.test_rbac import ADD, GROUPS, REMOVE, group, of_group, of_user, refused

VIEWER, EDITOR = {"roleId": 4}, {"roleId": 5}
BY_USER, BY_GROUP = "/api/v1/roles/search/by-user", "/api/v1/roles/search/by-group"


@dataclass
class Team:
    """`lead` administrates the workspace `own`, `member` edits there as a member of `group`, `other` holds no role."""

    admin: Client
    lead: Client
    member: Client
    other: Client
    member_id: int
    own: int
    strange: int
    group: int


@pytest.fixture
async def team(postgres_dsn: str) -> AsyncIterator[Team]:
    async with running(postgres_dsn, authz=Authz(type="rbac")) as cluster:
        admin = await cluster.nobody.login("admin")
        ids, clients = [], []
        for name in ("lead", "member", "other"):
            made = {"user": {"username": name, "active": True, "admin": False}, "password": "s"}
            ids.append((await admin.post("/api/v1/users", made))["user"]["id"])
            clients.append(await cluster.nobody.login(name, "s"))
        own, strange = [
            (await admin.post("/api/v1/workspaces", {"name": name}))["workspace"]["id"] for name in ("own", "strange")
        ]
        number = await group(admin, "painters", ids[1])
        await admin.post(ADD, of_user(ids[0], {"name": "WorkspaceAdmin"}, own))
        await admin.post(ADD, of_group(number, EDITOR, own))
        lead, member, other = clients
        yield Team(admin, lead, member, other, ids[1], own, strange, number)


async def groups(client: Client, **wanted: Any) -> list[str]:
    found = (await client.post(f"{GROUPS}/search", {"limit": 10, **wanted}))["groups"]
    return [one["group"]["name"] for one in found]


async def roles(client: Client) -> list[str]:
    return [role["name"] for role in (await client.post("/api/v1/roles/search", {"limit": 20}))["roles"]]


async def test_users_see_their_groups_and_those_who_assign_roles_see_all(team: Team) -> None:
    await group(team.admin, "potters")
    assert await groups(team.admin) == await groups(team.lead) == ["painters", "potters"]
    assert await groups(team.member) == ["painters"]
    assert await groups(team.other) == []
    assert await groups(team.other, userId=team.member_id) == []
    path = f"{GROUPS}/{team.group}"
    assert (await team.member.get(path))["group"]["name"] == "painters"
    assert (await refused(team.other, "GET", path))[0] == 404


async def test_groups_are_changed_by_those_who_hold_the_permission_on_the_cluster(team: Team) -> None:
    status, why = await refused(team.lead, "POST", GROUPS, {"name": "potters"})
    assert (status, why) == (403, "access denied; required permissions: PERMISSION_TYPE_UPDATE_GROUP")


async def test_users_see_their_roles_and_those_who_assign_roles_see_all(team: Team) -> None:
    assert len(await roles(team.lead)) == 10
    assert await roles(team.member) == ["Editor"]
    assert await roles(team.other) == []
    of_member, of_group_ = f"{BY_USER}/{team.member_id}", f"{BY_GROUP}/{team.group}"
    for path in (of_member, of_group_):
        for client in (team.member, team.lead):
            assert (await client.get(path))["roles"]
        assert await refused(team.other, "GET", path) == (
            403,
            "access denied; required permissions: PERMISSION_TYPE_ASSIGN_ROLES",
        )
    [editor] = (await team.member.post("/api/v1/roles/search/by-ids", {"roleIds": [4, 5]}))["roles"]
    assert [one["groupId"] for one in editor["groupRoleAssignments"]] == [team.group]
    both = (await team.lead.post("/api/v1/roles/search/by-ids", {"roleIds": [4, 5]}))["roles"]
    assert [one["role"]["name"] for one in both] == ["Viewer", "Editor"]


async def test_those_who_see_a_workspace_see_who_holds_a_role_there(team: Team) -> None:
    path = f"/api/v1/roles/workspace/{team.own}"
    assert [one["name"] for one in (await team.member.get(path))["groups"]] == ["painters"]
    assert (await refused(team.other, "GET", path))[0] == 404
    assignable = {"limit": 20, "workspaceId": team.own}
    found = await team.member.post("/api/v1/roles/search/by-assignability", assignable)
    assert len(found["roles"]) == 6
    assert (await refused(team.other, "POST", "/api/v1/roles/search/by-assignability", assignable))[0] == 404


async def test_a_role_is_assigned_by_those_who_may_do_so_on_each_workspace_that_is_named(team: Team) -> None:
    await team.lead.post(ADD, of_user(team.member_id, VIEWER, team.own))
    await team.lead.post(REMOVE, of_user(team.member_id, VIEWER, team.own))
    on_cluster, elsewhere = of_user(team.member_id, VIEWER), of_user(team.member_id, VIEWER, team.strange)
    assert (await refused(team.lead, "POST", ADD, on_cluster))[0] == 403
    assert (await refused(team.lead, "POST", ADD, elsewhere))[0] == 404
    assert (await refused(team.member, "POST", ADD, of_user(team.member_id, VIEWER, team.own)))[0] == 403
    mixed = {**of_user(team.member_id, VIEWER, team.own), **of_group(team.group, VIEWER)}
    assert (await refused(team.lead, "POST", ADD, mixed))[0] == 403
    assert (await refused(team.lead, "POST", REMOVE, of_user(1, {"roleId": 1})))[0] == 403
    await team.admin.post(ADD, mixed)

"""What the roles of Determined let users do with the operations of this gateway."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from resolute.api.access import bounds_of
from resolute.api.principals import Principal
from resolute.api.role_grants import FREE, REQUIRED, RoleGrants
from resolute.api.routing import OWNERS, SIGNED_IN, Access, Caller, Owned, Route, Verdict, decide
from resolute.api.scope import Rights as Held
from resolute.api.scope import Scope
from resolute.api.subjects import Reach
from resolute.api.table import PERMISSIONS, ROUTES
from resolute.config.rights import CLUSTER_ADMIN, WORKSPACE_ADMIN, Rights

ADA = Principal(5, "ada")
HERE, ELSEWHERE = 7, 8
VIEWER, EDITOR, WORKSPACE_CREATOR = 4, 5, 3

CHANGED_BY_VIEWERS = {
    *(
        "Login",
        "WebSignIn",
        "WebSignOut",
        "Logout",
        "PostUserSetting",
        "ResetUserSetting",
        "PinWorkspace",
        "UnpinWorkspace",
        "PostUserActivity",
        "PreviewHPSearch",
    ),
    *("GetModelDefFile", "SearchRuns", "SearchExperiments"),
    *("GetGroups", "ListRoles", "SearchRolesAssignableToScope", "GetRolesByID"),
}
"""Operations that are no GET, and change nothing that others see."""


async def held(access: Access, *roles: tuple[int, int | None], strict_queue: bool = False) -> Held:
    async def rights_of(user_id: int) -> Rights:
        return Rights(frozenset(roles))

    where = await RoleGrants(rights_of, strict_queue=strict_queue).held(ADA, access.permissions)
    return Held({permission: Scope(one) for permission, one in where.items()}, by_roles=True)


def named(access: Access, owner_id: int = 9) -> Sequence[Owned]:
    """What the request names lies in workspace 7, and belongs to another user unless it is said otherwise."""
    return [
        Owned(subject.kind, "1", owner_id=owner_id, workspace_id=HERE, permission=subject.permission)
        for subject in access.subjects
    ]


def test_every_permission_of_a_route_stands_for_permissions_of_determined() -> None:
    assert REQUIRED.keys() >= PERMISSIONS


def test_what_is_free_where_roles_decide_is_free_to_every_user_elsewhere_too() -> None:
    for route in ROUTES:
        if route.access.permission in FREE:
            assert Caller.SIGNED_IN in route.access.callers, route.operation


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
async def test_a_viewer_changes_nothing(route: Route) -> None:
    if route.method == "GET" or route.operation in CHANGED_BY_VIEWERS:
        return
    rights = await held(route.access, (VIEWER, HERE))
    verdict = decide(route.access, ADA, named(route.access), rights)
    if route.access.reach is Reach.SCOPE and verdict is Verdict.ALLOWED:
        bounds = bounds_of(route.access, rights)
        assert isinstance(bounds, Scope)
        assert not bounds.covers(HERE)
    else:
        assert verdict in (Verdict.NOT_GRANTED, Verdict.DENIED)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
async def test_an_administrator_of_the_cluster_may_do_all_that_users_may(route: Route) -> None:
    if not route.access.callers - {Caller.TASK}:
        return
    rights = await held(route.access, (CLUSTER_ADMIN.id, None))
    assert rights.is_everything
    assert decide(route.access, ADA, named(route.access), rights) is Verdict.ALLOWED


async def test_a_model_of_another_user_takes_a_permission_of_its_own() -> None:
    [delete] = [route.access for route in ROUTES if route.operation == "DeleteModel"]
    for role, owner_id, verdict in (
        (EDITOR, ADA.user_id, Verdict.ALLOWED),
        (EDITOR, 9, Verdict.NOT_GRANTED),
        (WORKSPACE_ADMIN.id, 9, Verdict.ALLOWED),
    ):
        assert decide(delete, ADA, named(delete, owner_id), await held(delete, (role, HERE))) is verdict


async def test_what_names_no_workspace_is_for_the_whole_cluster() -> None:
    create = OWNERS.to("webhook.edit").about("workspace", "body.workspaceId", optional=True)
    assert decide(create, ADA, (), await held(create, (EDITOR, HERE))) is Verdict.NOT_GRANTED
    assert decide(create, ADA, (), await held(create, (EDITOR, None))) is Verdict.ALLOWED


async def test_workspaces_are_created_by_those_who_may_on_the_whole_cluster() -> None:
    [create] = [route.access for route in ROUTES if route.operation == "PostWorkspace"]
    assert decide(create, ADA, (), await held(create, (WORKSPACE_CREATOR, None))) is Verdict.ALLOWED
    assert decide(create, ADA, (), await held(create, (WORKSPACE_ADMIN.id, HERE))) is Verdict.NOT_GRANTED


async def test_the_queue_can_be_left_to_administrators_of_the_cluster() -> None:
    [change] = [route.access for route in ROUTES if route.operation == "UpdateJobQueue"]
    for strict, verdict in ((False, Verdict.ALLOWED), (True, Verdict.NOT_GRANTED)):
        rights = await held(change, (EDITOR, HERE), strict_queue=strict)
        assert decide(change, ADA, named(change), rights) is verdict
    assert decide(change, ADA, named(change), await held(change, (1, None), strict_queue=True)) is Verdict.ALLOWED


async def test_being_an_administrator_counts_for_nothing_where_roles_decide() -> None:
    admin = Principal(5, "ada", admin=True)
    delete = OWNERS.to("experiment.delete").about("experiment", "experimentId")
    assert decide(delete, admin, named(delete), await held(delete)) is Verdict.MISSING
    assert decide(delete, admin, named(delete), await held(delete, (VIEWER, HERE))) is Verdict.NOT_GRANTED


async def test_no_roles_are_looked_up_for_what_is_free() -> None:
    async def rights_of(user_id: int) -> Rights:
        raise AssertionError("looked up")

    free = SIGNED_IN.to("cluster.view").outside()
    assert set(await RoleGrants(rights_of).held(ADA, free.permissions)) == {"cluster.view"}

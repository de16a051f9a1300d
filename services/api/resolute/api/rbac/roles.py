"""The operations about roles, and about who holds which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.paging import cut
from resolute.api.rbac import messages as m
from resolute.api.rbac import shown
from resolute.api.rbac.groups import (
    check_sees_everything,
    check_users,
    group_of,
    queries_of,
    sees_everything,
    window_of,
)
from resolute.config.rights import ROLES, Permission, Role
from resolute.proto import rbac as proto
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound


def _by_name(roles: Iterable[Role]) -> list[Role]:
    return sorted(roles, key=attrgetter("name"))


async def list_roles(call: Call, request: m.ListRoles) -> m.RolesAnswer:
    """All roles there are, by name. Where roles decide, those who may not assign any see the roles that they hold."""
    roles = ROLES.values() if await _sees_all_roles(call) else shown.roles_in(await _own(call))
    found = cut(_by_name(roles), window_of(request.body.limit, request.body.offset))
    return m.RolesAnswer(roles=tuple(map(shown.role, found.rows)), pagination=Pagination.of(found.page))


async def search_assignable_roles(call: Call, request: m.SearchAssignableRoles) -> m.AssignableAnswer:
    """The roles that can be held on a workspace, or on the whole cluster, by name."""
    if workspace_id := request.body.workspace_id or 0:
        await _check_workspaces(call, [workspace_id])
    fitting = [one for one in ROLES.values() if one.may_be_on_a_workspace or not workspace_id]
    found = cut(_by_name(fitting), window_of(request.body.limit, request.body.offset))
    return m.AssignableAnswer(roles=tuple(map(shown.role, found.rows)), pagination=Pagination.of(found.page))


async def get_roles_by_id(call: Call, request: m.GetRolesById) -> m.RolesByIdAnswer:
    """Some roles, and who holds them."""
    role_ids = tuple(dict.fromkeys(request.body.role_ids))
    for role_id in role_ids:
        _check_role(role_id)
    if await _sees_all_roles(call):
        held = await queries_of(call).of_roles(role_ids)
    else:
        held = [one for one in await _own(call) if one.role_id in role_ids]
        role_ids = tuple(dict.fromkeys(one.role_id for one in held))
    return m.RolesByIdAnswer(roles=shown.with_assignments(map(ROLES.__getitem__, role_ids), held))


async def get_roles_of_user(call: Call, request: m.RolesOfUser) -> m.RolesOfUserAnswer:
    """The roles that a user holds, by himself and by his groups."""
    if request.user_id != call.principal.user_id:
        await check_sees_everything(call)
    await check_users(call, [request.user_id])
    held = await queries_of(call).of_user(request.user_id)
    return m.RolesOfUserAnswer(roles=shown.with_assignments(shown.roles_in(held), held))


async def get_roles_of_group(call: Call, request: m.RolesOfGroup) -> m.RolesOfGroupAnswer:
    """The roles that a group holds, and where."""
    if call.principal.user_id not in (await group_of(call, request.group_id)).member_ids:
        await check_sees_everything(call)
    held = await queries_of(call).of_group(request.group_id)
    roles = tuple(map(shown.role, shown.roles_in(held)))
    return m.RolesOfGroupAnswer(roles=roles, assignments=shown.summaries(held))


async def get_permissions_summary(call: Call, request: m.GetPermissionsSummary) -> m.PermissionsSummaryAnswer:
    """The roles that the caller holds, and where."""
    held = await _own(call)
    roles = tuple(map(shown.role, shown.roles_in(held)))
    return m.PermissionsSummaryAnswer(roles=roles, assignments=shown.summaries(held))


async def _sees_all_roles(call: Call) -> bool:
    return await sees_everything(call, Permission.UPDATE_ROLES)


async def _own(call: Call) -> Sequence[proto.RoleAssignment]:
    return await queries_of(call).of_user(call.principal.user_id)


async def get_roles_on_workspace(call: Call, request: m.RolesOnWorkspace) -> m.RolesOnWorkspaceAnswer:
    """The users and groups that hold a role on this very workspace."""
    await _check_workspaces(call, [request.workspace_id])
    held = await queries_of(call).on_workspace(request.workspace_id)
    part = request.name.lower()
    rows = await queries_of(call).groups_with({one.group_id for one in held if one.group_id is not None})
    groups = await shown.groups(call, [row for row in rows if part in row.name.lower()])
    users = await shown.users_by_id(call, [one.user_id for one in held if one.user_id is not None])
    named = {user_id: user for user_id, user in users.items() if part in user.username.lower()}
    group_ids = {group.group_id for group in groups}
    kept = [one for one in held if one.group_id in group_ids or one.user_id in named]
    return m.RolesOnWorkspaceAnswer(
        groups=groups,
        users_assigned_directly=tuple(named.values()),
        assignments=shown.with_assignments(shown.roles_in(kept), kept),
    )


# ---------------------------------------------------------------- changes


async def assign_roles(call: Call, request: m.AssignRoles) -> Empty:
    """Give roles to users and groups: all of them, or none where one is held already."""
    await call.send(proto.AssignRoles(await _checked(call, request.body)))
    return Empty()


async def remove_assignments(call: Call, request: m.RemoveAssignments) -> Empty:
    """Take roles from users and groups: all of them, or none where one is not held."""
    await call.send(proto.UnassignRoles(await _checked(call, request.body)))
    return Empty()


async def _checked(call: Call, asked: m.NewAssignments | m.GoneAssignments) -> tuple[proto.RoleAssignment, ...]:
    """Raises InvalidConfig where a role or a holder is not named, and NotFound for users and workspaces that do not
    exist. The directory knows the groups."""
    found = tuple(_assignments(asked))
    if not found:
        raise InvalidConfig(
            "userRoleAssignments, groupRoleAssignments: expected at least one role to assign or to remove; found none"
        )
    _check_may_assign(call, found)
    await check_users(call, {one.user_id for one in found if one.user_id is not None})
    await _check_workspaces(call, {one.workspace_id for one in found if one.workspace_id is not None})
    return found


def _check_may_assign(call: Call, asked: Sequence[proto.RoleAssignment]) -> None:
    """Raises Forbidden for a role on the whole cluster where the caller may assign roles on some workspaces alone: the
    route knows the workspaces that are named, and not that one is not."""
    on_cluster = any(one.workspace_id is None for one in asked)
    if (
        on_cluster
        and call.granted.rights.by_roles
        and not call.granted.rights.over("workspace.roles.assign").is_everything
    ):
        raise Forbidden(f"access denied; required permissions: {Permission.ASSIGN_ROLES.wire_name}")


def _assignments(asked: m.NewAssignments | m.GoneAssignments) -> Iterator[proto.RoleAssignment]:
    for place, of_user in enumerate(asked.user_role_assignments):
        path = f"userRoleAssignments[{place}]"
        role_id, workspace_id = _role_and_place(of_user.role_assignment, path)
        user_id = _holder(of_user.user_id, f"{path}.userId")
        yield proto.RoleAssignment(role_id, user_id=user_id, workspace_id=workspace_id)
    for place, of_group in enumerate(asked.group_role_assignments):
        path = f"groupRoleAssignments[{place}]"
        role_id, workspace_id = _role_and_place(of_group.role_assignment, path)
        group_id = _holder(of_group.group_id, f"{path}.groupId")
        yield proto.RoleAssignment(role_id, group_id=group_id, workspace_id=workspace_id)


def _holder(holder_id: int, path: str) -> int:
    if not holder_id:
        raise InvalidConfig(f"{path}: expected the id of who gets or loses the role; found 0")
    return holder_id


def _role_and_place(given: m.RoleAssignment | None, path: str) -> tuple[int, int | None]:
    """The id of the role, and that of the workspace; None for the whole cluster."""
    if given is None or given.role is None:
        raise InvalidConfig(f"{path}.roleAssignment.role: expected a role with its roleId or its name; it is missing")
    return _role_id(given.role, path), given.scope_workspace_id or None


def _role_id(given: m.Role, path: str) -> int:
    if given.role_id:
        _check_role(given.role_id)
        return given.role_id
    if not given.name:
        raise InvalidConfig(f"{path}.roleAssignment.role: expected its roleId or its name; both are missing")
    found = next((one for one in ROLES.values() if one.name == given.name), None)
    if found is None:
        raise NotFound(f"role '{given.name}' not found; there are {', '.join(one.name for one in ROLES.values())}")
    return found.id


def _check_role(role_id: int) -> None:
    if role_id not in ROLES:
        raise NotFound(f"role '{role_id}' not found")


async def _check_workspaces(call: Call, workspace_ids: Iterable[int]) -> None:
    if unknown := await queries_of(call).unknown_workspaces(set(workspace_ids)):
        raise NotFound(f"workspace '{unknown[0]}' not found")

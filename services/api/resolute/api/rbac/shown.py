"""Groups and roles as the wire shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from resolute.api.call import Call
from resolute.api.identity.messages import User
from resolute.api.identity.shown import queries_of as users_of
from resolute.api.identity.shown import shown as shown_user
from resolute.api.rbac import messages as m
from resolute.api.rbac.queries import GroupRow
from resolute.config.rights import ROLES, Permission, Role
from resolute.proto.rbac import RoleAssignment


def role(found: Role) -> m.Role:
    return m.Role(
        role_id=found.id,
        name=found.name,
        permissions=tuple(map(permission, sorted(found.permissions))),
        scope_type_mask=m.ScopeTypeMask(cluster=True, workspace=found.may_be_on_a_workspace),
    )


def permission(found: Permission) -> m.Permission:
    return m.Permission(
        id=m.PermissionType(found.wire_name),
        name=found.words,
        scope_type_mask=m.ScopeTypeMask(cluster=True, workspace=not found.is_cluster_only),
    )


def with_assignments(roles: Iterable[Role], held: Iterable[RoleAssignment]) -> tuple[m.RoleWithAssignments, ...]:
    """Each role with those of `held` that are about it."""
    of_role = defaultdict[int, list[RoleAssignment]](list)
    for one in held:
        of_role[one.role_id].append(one)
    return tuple(_with(one, of_role[one.id]) for one in roles)


def _with(found: Role, held: Sequence[RoleAssignment]) -> m.RoleWithAssignments:
    return m.RoleWithAssignments(
        role=role(found),
        user_role_assignments=tuple(
            m.UserRoleAssignment(user_id=one.user_id, role_assignment=_assignment(found, one))
            for one in held
            if one.user_id is not None
        ),
        group_role_assignments=tuple(
            m.GroupRoleAssignment(group_id=one.group_id, role_assignment=_assignment(found, one))
            for one in held
            if one.group_id is not None
        ),
    )


def _assignment(found: Role, one: RoleAssignment) -> m.RoleAssignment:
    named = m.Role(role_id=found.id, name=found.name)  # its permissions stand beside the assignments, once
    return m.RoleAssignment(role=named, scope_workspace_id=one.workspace_id, scope_cluster=one.workspace_id is None)


def roles_in(held: Iterable[RoleAssignment]) -> list[Role]:
    """The roles that are held, by id."""
    return [ROLES[role_id] for role_id in sorted({one.role_id for one in held})]


def summaries(held: Sequence[RoleAssignment]) -> tuple[m.RoleAssignmentSummary, ...]:
    where = defaultdict[int, set[int | None]](set)
    for one in held:
        where[one.role_id].add(one.workspace_id)
    return tuple(
        m.RoleAssignmentSummary(
            role_id=role_id,
            scope_cluster=None in places,
            scope_workspace_ids=tuple(sorted(place for place in places if place is not None)),
        )
        for role_id, places in sorted(where.items())
    )


async def groups(call: Call, rows: Sequence[GroupRow]) -> tuple[m.GroupDetails, ...]:
    """With their members."""
    users = await users_by_id(call, {user_id for row in rows for user_id in row.member_ids})
    return tuple(
        m.GroupDetails(
            group_id=row.id, name=row.name, users=tuple(users[one] for one in row.member_ids if one in users)
        )
        for row in rows
    )


async def users_by_id(call: Call, user_ids: Iterable[int]) -> Mapping[int, User]:
    """In the order of their ids."""
    return {row.id: shown_user(row) for row in await users_of(call).users_with(set(user_ids))}

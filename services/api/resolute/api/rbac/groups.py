"""The operations about groups of users."""

from __future__ import annotations

from collections.abc import Collection

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.paging import Window
from resolute.api.rbac import messages as m
from resolute.api.rbac import shown
from resolute.api.rbac.queries import QUERIES, GroupRow, RbacQueries
from resolute.config.rights import Permission
from resolute.proto import rbac as proto
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound


def queries_of(call: Call) -> RbacQueries:
    return call.gateway.ports.of(QUERIES)


def window_of(limit: int, offset: int) -> Window:
    """Raises InvalidConfig without a limit: clients must say one."""
    if limit == 0:
        raise InvalidConfig(f"limit: expected 1 to {m.PAGE_MOST}; found 0")
    return Window(offset, limit)


async def get_groups(call: Call, request: m.GetGroups) -> m.GroupsAnswer:
    """The groups, by id. Where roles decide, those who may not assign any see the groups that they are members of."""
    wanted = request.body
    window = window_of(wanted.limit, wanted.offset)
    if not (everything := await sees_everything(call)) and wanted.user_id not in (0, call.principal.user_id):
        return m.GroupsAnswer(groups=(), pagination=Pagination.of(window.of(0)))
    user_id = wanted.user_id if everything else call.principal.user_id
    found = await queries_of(call).groups(call.outside, wanted.name, user_id, window)
    groups = tuple(
        m.GroupSearchResult(group=m.Group(group_id=row.id, name=row.name), num_members=len(row.member_ids))
        for row in found.rows
    )
    return m.GroupsAnswer(groups=groups, pagination=Pagination.of(found.page))


async def get_group(call: Call, request: m.OneGroup) -> m.GroupAnswer:
    """One group, with its members."""
    row = await group_of(call, request.group_id)
    if call.principal.user_id not in row.member_ids and not await sees_everything(call):
        raise _missing(request.group_id)
    return m.GroupAnswer(group=await _answered(call, request.group_id))


async def create_group(call: Call, request: m.CreateGroup) -> m.NewGroupAnswer:
    """Make a group."""
    await check_users(call, request.body.add_users)
    made = await call.send(proto.CreateGroup(request.body.name, request.body.add_users))
    return m.NewGroupAnswer(group=await _answered(call, made.data["group_id"]))


async def update_group(call: Call, request: m.UpdateGroup) -> m.ChangedGroupAnswer:
    """Rename a group, and let users join and leave it: all of that, or nothing."""
    change = request.body
    await check_users(call, change.add_users)
    await call.send(proto.ChangeGroup(request.group_id, change.name, change.add_users, change.remove_users))
    return m.ChangedGroupAnswer(group=await _answered(call, request.group_id))


async def delete_group(call: Call, request: m.OneGroup) -> Empty:
    """Delete a group. Its members lose the roles that they held by it."""
    await call.send(proto.DeleteGroup(request.group_id))
    return Empty()


async def assign_multiple_groups(call: Call, request: m.AssignMultipleGroups) -> Empty:
    """Let several users join and leave groups."""
    wanted = request.body
    await check_users(call, wanted.user_ids)
    await call.send(proto.ChangeMemberships(wanted.user_ids, wanted.add_groups, wanted.remove_groups))
    return Empty()


async def check_users(call: Call, user_ids: Collection[int]) -> None:
    """Raises NotFound."""
    if unknown := await queries_of(call).unknown_users(user_ids):
        raise NotFound(f"user '{unknown[0]}' not found")


async def group_of(call: Call, group_id: int) -> GroupRow:
    """Raises NotFound."""
    if not (rows := await queries_of(call).groups_with((group_id,))):
        raise _missing(group_id)
    return rows[0]


def _missing(group_id: int) -> NotFound:
    return NotFound(f"group '{group_id}' not found")


async def sees_everything(call: Call, *besides: Permission) -> bool:
    """Whether the caller may see all groups, and who holds which roles: where roles decide, those may who can assign
    roles somewhere, or hold one of `besides`."""
    if not call.granted.rights.by_roles:
        return True
    rights = await queries_of(call).rights_of(call.principal.user_id)
    return any(map(rights.may_anywhere, (Permission.ASSIGN_ROLES, *besides)))


async def check_sees_everything(call: Call) -> None:
    """Raises Forbidden."""
    if not await sees_everything(call):
        raise Forbidden(f"access denied; required permissions: {Permission.ASSIGN_ROLES.wire_name}")


async def _answered(call: Call, group_id: int) -> m.GroupDetails:
    (group,) = await shown.groups(call, [await group_of(call, group_id)])
    return group

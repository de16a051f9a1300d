"""Users as the wire shows them."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.identity.messages import User
from resolute.api.identity.queries import QUERIES, IdentityQueries, UserRow
from resolute.api.kernel.common import AgentUserGroup
from resolute.config.pools import DefaultTask
from resolute.proto.errors import NotFound
from resolute.proto.experiment import AgentUser


def queries_of(call: Call) -> IdentityQueries:
    return call.gateway.ports.of(QUERIES)


async def user_of(call: Call, user_id: int) -> User:
    """Raises NotFound."""
    row = await queries_of(call).user(user_id)
    if row is None:
        raise NotFound(f"user {user_id} not found")
    return shown(row)


def shown(row: UserRow) -> User:
    group = row.agent_user_group
    return User(
        id=row.id,
        username=row.username,
        admin=row.admin,
        active=row.active,
        display_name=row.display_name,
        remote=row.remote,
        agent_user_group=None if group is None else AgentUserGroup.stored(group),
        modified_at=row.modified_at,
        last_auth_at=row.last_auth_at,
    )


def agent_user_of(row: UserRow | None, default: DefaultTask | None) -> AgentUser | None:
    """Whom the user's tasks run as: the user of the host that an administrator has linked, or `default`."""
    group = row.agent_user_group or {} if row is not None else {}
    uid, gid = group.get("agentUid"), group.get("agentGid")
    if uid is None or gid is None:
        return AgentUser(default.user, default.uid, default.group, default.gid) if default is not None else None
    return AgentUser(group.get("agentUser") or "", uid, group.get("agentGroup") or "", gid)

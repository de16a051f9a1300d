"""The operations about users: listing, making and changing them, their passwords, their settings."""

from __future__ import annotations

from typing import Any

from resolute.api import passwords, wire
from resolute.api.call import Call
from resolute.api.identity.messages import (
    PASSWORD,
    ActivationAnswer,
    ChangedUserAnswer,
    GetUser,
    GetUserByUsername,
    GetUsers,
    GetUserSetting,
    NewUserAnswer,
    PasswordAnswer,
    PatchUser,
    PatchUsers,
    PostUser,
    PostUserSetting,
    ResetUserSetting,
    Setting,
    SettingsAnswer,
    SetUserPassword,
    UserActionResult,
    UserAnswer,
    UserByUsernameAnswer,
    UserChange,
    UsersAnswer,
)
from resolute.api.identity.queries import Wanted
from resolute.api.identity.shown import queries_of, shown, user_of
from resolute.api.kernel import values
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.messages import Empty, given_in
from resolute.api.kernel.paging import Window
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.identity import (
    SESSIONS_MAX,
    ActivateUsers,
    ChangePassword,
    ChangeUser,
    ChangeUserSettings,
    CloseSessions,
    CreateUser,
    ResetUserSettings,
    UserSetting,
)

PLAIN_FIELDS = ("username", "admin", "active", "display_name", "remote")
"""What a change names as it is, by the names that the log has for it as well."""


async def get_users(call: Call, request: GetUsers) -> UsersAnswer:
    """The users, by name, activity or rights."""
    wanted = Wanted(
        active=request.active,
        admin=request.admin,
        name_part=request.name,
        role_ids=request.role_id_assigned_directly_to_user,
    )
    found = await queries_of(call).users(
        call.outside,
        wanted,
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    return UsersAnswer(users=tuple(map(shown, found.rows)), pagination=Pagination.of(found.page))


async def get_user(call: Call, request: GetUser) -> UserAnswer:
    """One user."""
    return UserAnswer(user=await user_of(call, request.user_id))


async def get_user_by_username(call: Call, request: GetUserByUsername) -> UserByUsernameAnswer:
    """One user, by name."""
    row = await queries_of(call).user_named(request.username)
    if row is None:
        raise NotFound(f"user {request.username} not found")
    return UserByUsernameAnswer(user=shown(row))


async def post_user(call: Call, request: PostUser) -> NewUserAnswer:
    """Make a user."""
    asked = request.body.user
    if not asked.username:
        raise InvalidConfig("user.username: a new user needs a name")
    form = passwords.client_form(request.body.password, hashed=request.body.is_hashed)
    if not asked.remote:
        _check_blank(call, form)
    create = CreateUser(
        asked.username,
        admin=asked.admin,
        active=bool(asked.active),
        display_name=asked.display_name,
        remote=asked.remote,
        agent_user_group={} if asked.agent_user_group is None else given_in(asked.agent_user_group),
    )
    user_id = (await call.send(create)).data["user_id"]
    if form:
        await _store_password(call, user_id, form)
    else:
        await call.gateway.sessions.set_first_password(user_id, "")
    return NewUserAnswer(user=await user_of(call, user_id))


async def patch_user(call: Call, request: PatchUser) -> ChangedUserAnswer:
    """Change a user: oneself in part, an administrator in full. Absent and null both mean: leave it."""
    user_id, patch = request.user_id, request.body
    form = None if patch.password is None else passwords.client_form(patch.password, hashed=patch.is_hashed)
    if form is not None:
        _check_blank(call, form)
    elif patch.remote is False and await _is_remote(call, user_id):
        _check_blank(call, "")  # there was no use for one so far
    await call.send(ChangeUser(user_id, _changes(patch)))
    if form is not None:
        await _store_password(call, user_id, form)
    call.gateway.sessions.forget()
    return ChangedUserAnswer(user=await user_of(call, user_id))


def _changes(patch: UserChange) -> dict[str, Any]:
    """By the names of the log."""
    changes = {name: value for name in PLAIN_FIELDS if (value := getattr(patch, name)) is not None}
    if patch.agent_user_group is not None:
        changes["agent_user_group"] = given_in(patch.agent_user_group)
    return changes


async def set_user_password(call: Call, request: SetUserPassword) -> PasswordAnswer:
    """The body is the password as a bare JSON string, or nothing at all for a blank one."""
    password = _bare_password(request.body.raw)
    _check_blank(call, password)
    await _store_password(call, request.user_id, password)
    return PasswordAnswer(user=await user_of(call, request.user_id))


def _bare_password(raw: bytes) -> str:
    """Raises InvalidConfig."""
    if not raw.strip():
        return ""
    try:
        return values.check_text(PASSWORD.kind, wire.loads(raw))
    except values.Unfit as unfit:
        raise InvalidConfig(f"body: {unfit}") from None


def _check_blank(call: Call, form: str) -> None:
    if not form and not call.gateway.settings.loopback:
        raise InvalidConfig("password: a blank one is allowed only while the gateway listens on a loopback address")


async def _is_remote(call: Call, user_id: int) -> bool:
    """By the newest state: another gateway may have changed it a moment ago. Raises NotFound."""
    await call.gateway.read.catch_up()
    return (await user_of(call, user_id)).remote


async def _store_password(call: Call, user_id: int, form: str) -> None:
    """Keep it, end the user's other sessions, and say so in the log. Raises NotFound."""
    await user_of(call, user_id)
    await call.gateway.sessions.set_password(user_id, form)
    await call.gateway.logins.budgets.forget_addresses(user_id)
    ended = tuple(await call.gateway.sessions.close_all(user_id, but=call.principal.session_id))
    while len(ended) > SESSIONS_MAX:
        await call.send(CloseSessions(user_id, ended[:SESSIONS_MAX]), f"sessions-{ended[0]}")
        ended = ended[SESSIONS_MAX:]
    await call.send(ChangePassword(user_id, blank=not form, sessions_ended=ended), "password")


async def patch_users(call: Call, request: PatchUsers) -> ActivationAnswer:
    """Activate or deactivate several users."""
    user_ids = request.body.user_ids
    refused = (await call.send(ActivateUsers(user_ids, request.body.activate))).data["refused"]
    call.gateway.sessions.forget()
    return ActivationAnswer(
        results=tuple(UserActionResult(id=user_id, error=refused.get(str(user_id), "")) for user_id in user_ids)
    )


# ---------------------------------------------------------------- settings


async def get_settings(call: Call, request: GetUserSetting) -> SettingsAnswer:
    """One's own settings of the web app."""
    rows = await queries_of(call).settings(call.principal.user_id)
    return SettingsAnswer(
        settings=tuple(Setting(key=row.key, storage_path=row.storage_path, value=row.value) for row in rows)
    )


async def post_settings(call: Call, request: PostUserSetting) -> Empty:
    """Keep some of one's own settings."""
    settings = tuple(UserSetting(one.key, one.storage_path, one.value) for one in request.body.settings)
    if settings:
        await call.send(ChangeUserSettings(call.principal.user_id, settings))
    return Empty()


async def reset_settings(call: Call, request: ResetUserSetting) -> Empty:
    """Forget one's own settings."""
    user_id = call.principal.user_id
    await call.send(ResetUserSettings(user_id))
    await call.gateway.earlier_rows.forget_settings(user_id)
    return Empty()

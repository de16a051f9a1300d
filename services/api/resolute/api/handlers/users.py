"""Users: listing, making, changing them, their passwords and their settings."""

from __future__ import annotations

from typing import Any

from resolute.api import bodies, passwords
from resolute.api.call import Call
from resolute.api.routing import ADMIN, SELF, SIGNED_IN, Route
from resolute.api.views.listing import Where, listed, order_by, pattern
from resolute.api.views.users import SELECT, user_json, user_of
from resolute.api.wire import loads
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

SORT = {
    "SORT_BY_DISPLAY_NAME": "display_name",
    "SORT_BY_USER_NAME": "username",
    "SORT_BY_ADMIN": "admin",
    "SORT_BY_ACTIVE": "active",
    "SORT_BY_MODIFIED_TIME": "modified_at",
    "SORT_BY_NAME": "coalesce(nullif(display_name, ''), username)",
    "SORT_BY_LAST_AUTH_TIME": "last_auth_at",
    "SORT_BY_REMOTE": "remote",
}

FIELDS = {
    "username": "username",
    "admin": "admin",
    "active": "active",
    "displayName": "display_name",
    "remote": "remote",
    "agentUserGroup": "agent_user_group",
}

# Those of an earlier release besides, until they are carried over into the log.
SETTINGS = """SELECT key, storage_path, value FROM read_identity.user_settings WHERE user_id = $1
UNION ALL
SELECT key, storage_path, value FROM api.user_settings o
WHERE user_id = $1 AND NOT carried_over AND NOT EXISTS (
    SELECT FROM read_identity.user_settings n
    WHERE n.user_id = o.user_id AND n.key = o.key AND n.storage_path = o.storage_path)
ORDER BY key, storage_path"""

ADMINS_ONLY = ("body.username", "body.admin", "body.active", "body.remote", "body.agentUserGroup")


async def get_users(call: Call) -> dict[str, Any]:
    """The users, by name, activity or rights."""
    where = Where(call.outside)
    for flag in ("active", "admin"):
        if (wanted := call.query.flag(flag)) is not None:
            where.add(f"{flag} = ?", wanted)
    if name := call.query.text("name"):
        where.add("(username ILIKE ? OR display_name ILIKE ?)", pattern(name))
    order = order_by(call, SORT, "id", tie="id")
    rows, page = await listed(call, SELECT, "SELECT count(*) FROM read_identity.users", where, order)
    return {"users": [user_json(row) for row in rows], "pagination": page.as_json()}


async def get_user(call: Call) -> dict[str, Any]:
    """One user."""
    return {"user": await user_of(call.gateway.read, call.int("userId"))}


async def get_user_by_username(call: Call) -> dict[str, Any]:
    """One user, by name."""
    username = call.path["username"]
    row = await call.gateway.read.row(f"{SELECT} WHERE username = $1", username)
    if row is None:
        raise NotFound(f"user {username} not found")
    return {"user": user_json(row)}


async def post_user(call: Call) -> dict[str, Any]:
    """Make a user."""
    asked = call.body.get("user") or {}
    if not asked.get("username"):
        raise InvalidConfig("user.username: a new user needs a name")
    remote = bool(asked.get("remote"))
    form = _password(call, call.body)
    if not remote:
        _check_blank(call, form)
    create = CreateUser(
        str(asked["username"]),
        admin=bool(asked.get("admin")),
        active=bool(asked.get("active", True)),
        display_name=str(asked.get("displayName") or ""),
        remote=remote,
        agent_user_group=asked.get("agentUserGroup") or {},
    )
    user_id = (await call.send(create)).data["user_id"]
    if form:
        await _store_password(call, user_id, form)
    else:
        await call.gateway.sessions.set_first_password(user_id, "")
    return {"user": await user_of(call.gateway.read, user_id)}


async def patch_user(call: Call) -> dict[str, Any]:
    """Change a user: oneself in part, an administrator in full. Absent and null both mean: leave it."""
    user_id, patch = call.int("userId"), call.body
    changes = {column: patch[key] for key, column in FIELDS.items() if patch.get(key) is not None}
    form = None if patch.get("password") is None else _password(call, patch)
    if form is not None:
        _check_blank(call, form)
    elif patch.get("remote") is False and await _is_remote(call, user_id):
        _check_blank(call, "")  # there was no use for one so far
    await call.send(ChangeUser(user_id, changes))
    if form is not None:
        await _store_password(call, user_id, form)
    call.gateway.sessions.forget()
    return {"user": await user_of(call.gateway.read, user_id)}


async def set_user_password(call: Call) -> dict[str, Any]:
    """The body is the password as a bare JSON string, or nothing at all for a blank one."""
    raw = call.read.raw
    password = bodies.read_document("SetUserPassword", loads(raw)) if raw.strip() else ""
    _check_blank(call, password)
    await _store_password(call, call.int("userId"), password)
    return {"user": await user_of(call.gateway.read, call.int("userId"))}


def _password(call: Call, body: dict[str, Any]) -> str:
    return passwords.client_form(str(body.get("password") or ""), hashed=bool(body.get("isHashed")))


def _check_blank(call: Call, form: str) -> None:
    if not form and not call.gateway.settings.loopback:
        raise InvalidConfig("password: a blank one is allowed only while the gateway listens on a loopback address")


async def _is_remote(call: Call, user_id: int) -> bool:
    """By the newest state: another gateway may have changed it a moment ago. Raises NotFound."""
    await call.gateway.read.catch_up()
    return bool((await user_of(call.gateway.read, user_id))["remote"])


async def _store_password(call: Call, user_id: int, form: str) -> None:
    """Keep it, end the user's other sessions, and say so in the log. Raises NotFound."""
    await user_of(call.gateway.read, user_id)
    await call.gateway.sessions.set_password(user_id, form)
    await call.gateway.logins.budgets.forget_addresses(user_id)
    ended = tuple(await call.gateway.sessions.close_all(user_id, but=call.principal.session_id))
    while len(ended) > SESSIONS_MAX:
        await call.send(CloseSessions(user_id, ended[:SESSIONS_MAX]), f"sessions-{ended[0]}")
        ended = ended[SESSIONS_MAX:]
    await call.send(ChangePassword(user_id, blank=not form, sessions_ended=ended), "password")


async def patch_users(call: Call) -> dict[str, Any]:
    """Activate or deactivate several users."""
    user_ids = tuple(int(user_id) for user_id in call.body.get("userIds") or [])
    refused = (await call.send(ActivateUsers(user_ids, bool(call.body.get("activate"))))).data["refused"]
    call.gateway.sessions.forget()
    return {"results": [{"id": user_id, "error": refused.get(str(user_id), "")} for user_id in user_ids]}


# ---------------------------------------------------------------- settings


async def get_settings(call: Call) -> dict[str, Any]:
    """One's own settings of the web app."""
    rows = await call.gateway.read.rows(SETTINGS, call.principal.user_id)
    return {"settings": [{"key": r["key"], "storagePath": r["storage_path"], "value": r["value"]} for r in rows]}


async def post_settings(call: Call) -> dict[str, Any]:
    """Keep some of one's own settings."""
    settings = tuple(
        UserSetting(str(one.get("key") or ""), str(one.get("storagePath") or ""), str(one.get("value") or ""))
        for one in call.body.get("settings") or []
    )
    if settings:
        await call.send(ChangeUserSettings(call.principal.user_id, settings))
    return {}


async def reset_settings(call: Call) -> dict[str, Any]:
    """Forget one's own settings."""
    user_id = call.principal.user_id
    await call.send(ResetUserSettings(user_id))
    await call.gateway.earlier_rows.forget_settings(user_id)
    return {}


VIEW = SIGNED_IN.to("user.view").outside()
OWN = SIGNED_IN.oneself()
ADMIN_OR_SELF = (ADMIN | SELF.about("user", "userId")).outside()

ROUTES = (
    Route("GetUsers", "GET", "/api/v1/users", get_users, VIEW),
    Route("GetUserSetting", "GET", "/api/v1/users/setting", get_settings, OWN),
    Route("PostUserSetting", "POST", "/api/v1/users/setting", post_settings, OWN),
    Route("ResetUserSetting", "POST", "/api/v1/users/setting/reset", reset_settings, OWN),
    Route("GetUser", "GET", "/api/v1/users/{userId}", get_user, VIEW),
    Route("GetUserByUsername", "GET", "/api/v1/users/{username}/by-username", get_user_by_username, VIEW),
    Route("PostUser", "POST", "/api/v1/users", post_user, ADMIN.to("user.create").outside()),
    Route(
        "PatchUser",
        "PATCH",
        "/api/v1/users/{userId}",
        patch_user,
        ADMIN_OR_SELF.to("user.edit").but(ADMIN.to("user.edit"), *ADMINS_ONLY),
    ),
    Route("PatchUsers", "PATCH", "/api/v1/users", patch_users, ADMIN.to("user.edit").outside()),
    Route(
        "SetUserPassword",
        "POST",
        "/api/v1/users/{userId}/password",
        set_user_password,
        ADMIN_OR_SELF.to("user.edit"),
        raw_body=True,
    ),
)

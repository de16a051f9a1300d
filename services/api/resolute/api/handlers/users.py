"""Users: listing, making, changing them, their passwords and their settings."""

from __future__ import annotations

from typing import Any

from resolute.api import bodies, passwords
from resolute.api.call import Call
from resolute.api.identity import check_agent_user
from resolute.api.routing import ADMIN, SELF, SIGNED_IN, Route
from resolute.api.views.listing import Where, listed, order_by, pattern
from resolute.api.views.users import SELECT, user_json, user_of
from resolute.api.wire import loads
from resolute.proto.errors import InvalidConfig, NotFound, ResoluteError

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

ADMINS_ONLY = ("body.username", "body.admin", "body.active", "body.remote", "body.agentUserGroup")


async def get_users(call: Call) -> dict[str, Any]:
    """The users, by name, activity or rights."""
    where = Where()
    for flag in ("active", "admin"):
        if (wanted := call.query.flag(flag)) is not None:
            where.add(f"{flag} = ?", wanted)
    if name := call.query.text("name"):
        where.add("(username ILIKE ? OR display_name ILIKE ?)", pattern(name))
    order = order_by(call, SORT, "id", tie="id")
    rows, page = await listed(call, SELECT, "SELECT count(*) FROM read_v1.users", where, order)
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
    if group := asked.get("agentUserGroup"):
        check_agent_user(group)
    remote = bool(asked.get("remote"))
    form = _password(call, call.body)
    if not remote:
        _check_blank(call, form)
    directory = call.gateway.directory
    user_id, position = await directory.create_user(
        str(asked["username"]),
        call.cause,
        admin=bool(asked.get("admin")),
        active=bool(asked.get("active", True)),
        display_name=str(asked.get("displayName") or ""),
        remote=remote,
    )
    if form:
        position = await _store_password(call, user_id, form)
    else:
        await call.gateway.sessions.set_first_password(user_id, "")
    if group:
        position = await directory.change_user(user_id, {"agent_user_group": group}, call.cause.then("agent-user"))
    await call.gateway.read.reached(position)
    return {"user": await user_of(call.gateway.read, user_id)}


async def patch_user(call: Call) -> dict[str, Any]:
    """Change a user: oneself in part, an administrator in full. Absent and null both mean: leave it."""
    user_id, patch = call.int("userId"), call.body
    changes = {column: patch[key] for key, column in FIELDS.items() if patch.get(key) is not None}
    directory = call.gateway.directory
    form = None if patch.get("password") is None else _password(call, patch)
    if form is not None:
        _check_blank(call, form)
    elif patch.get("remote") is False and (await directory.users()).get(user_id).remote:
        _check_blank(call, "")  # there was no use for one so far
    position = await directory.change_user(user_id, changes, call.cause)
    if form is not None:
        position = await _store_password(call, user_id, form)
    await call.gateway.read.reached(position)
    call.gateway.sessions.forget()
    return {"user": await user_of(call.gateway.read, user_id)}


async def set_user_password(call: Call) -> dict[str, Any]:
    """The body is the password as a bare JSON string, or nothing at all for a blank one."""
    raw = call.read.raw
    password = bodies.read_document("SetUserPassword", loads(raw)) if raw.strip() else ""
    _check_blank(call, password)
    position = await _store_password(call, call.int("userId"), password)
    await call.gateway.read.reached(position)
    return {"user": await user_of(call.gateway.read, call.int("userId"))}


def _password(call: Call, body: dict[str, Any]) -> str:
    return passwords.client_form(str(body.get("password") or ""), hashed=bool(body.get("isHashed")))


def _check_blank(call: Call, form: str) -> None:
    if not form and not call.gateway.settings.loopback:
        raise InvalidConfig("password: a blank one is allowed only while the gateway listens on a loopback address")


async def _store_password(call: Call, user_id: int, form: str) -> int:
    """Keep it, end the user's other sessions, and say so in the log."""
    (await call.gateway.directory.users()).get(user_id)
    await call.gateway.sessions.set_password(user_id, form)
    await call.gateway.logins.budgets.forget_addresses(user_id)
    cause = call.cause.then("password")
    closed = await call.gateway.sessions.close_all(user_id, but=call.principal.session_id)
    for session_id in closed:
        await call.gateway.directory.session_closed(user_id, session_id, cause.then(str(session_id)))
    return await call.gateway.directory.change_password(user_id, blank=not form, cause=cause)


async def patch_users(call: Call) -> dict[str, Any]:
    """Activate or deactivate several users."""
    results, position = [], 0
    for user_id in call.body.get("userIds") or []:
        try:
            position = await call.gateway.directory.change_user(
                int(user_id), {"active": bool(call.body.get("activate"))}, call.cause.then(str(user_id))
            )
            results.append({"id": int(user_id), "error": ""})
        except ResoluteError as error:
            results.append({"id": int(user_id), "error": error.message})
    await call.gateway.read.reached(position)
    call.gateway.sessions.forget()
    return {"results": results}


# ---------------------------------------------------------------- settings


async def get_settings(call: Call) -> dict[str, Any]:
    """One's own settings of the web app."""
    rows = await call.gateway.read.rows(
        "SELECT key, storage_path, value FROM api.user_settings WHERE user_id = $1 ORDER BY key, storage_path",
        call.principal.user_id,
    )
    return {"settings": [{"key": r["key"], "storagePath": r["storage_path"], "value": r["value"]} for r in rows]}


async def post_settings(call: Call) -> dict[str, Any]:
    """Keep some of one's own settings."""
    for setting in call.body.get("settings") or []:
        await call.gateway.read.value(
            "INSERT INTO api.user_settings (user_id, key, storage_path, value) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT (user_id, key, storage_path) DO UPDATE SET value = EXCLUDED.value",
            call.principal.user_id,
            str(setting.get("key") or ""),
            str(setting.get("storagePath") or ""),
            str(setting.get("value") or ""),
        )
    return {}


async def reset_settings(call: Call) -> dict[str, Any]:
    """Forget one's own settings."""
    await call.gateway.read.value("DELETE FROM api.user_settings WHERE user_id = $1", call.principal.user_id)
    return {}


VIEW = SIGNED_IN.to("user.view")
ADMIN_OR_SELF = ADMIN | SELF.own("user", "userId")

ROUTES = (
    Route("GetUsers", "GET", "/api/v1/users", get_users, VIEW),
    Route("GetUserSetting", "GET", "/api/v1/users/setting", get_settings, SIGNED_IN),
    Route("PostUserSetting", "POST", "/api/v1/users/setting", post_settings, SIGNED_IN),
    Route("ResetUserSetting", "POST", "/api/v1/users/setting/reset", reset_settings, SIGNED_IN),
    Route("GetUser", "GET", "/api/v1/users/{userId}", get_user, VIEW),
    Route("GetUserByUsername", "GET", "/api/v1/users/{username}/by-username", get_user_by_username, VIEW),
    Route("PostUser", "POST", "/api/v1/users", post_user, ADMIN.to("user.create")),
    Route(
        "PatchUser",
        "PATCH",
        "/api/v1/users/{userId}",
        patch_user,
        ADMIN_OR_SELF.to("user.edit").but(ADMIN.to("user.edit"), *ADMINS_ONLY),
    ),
    Route("PatchUsers", "PATCH", "/api/v1/users", patch_users, ADMIN.to("user.edit")),
    Route(
        "SetUserPassword",
        "POST",
        "/api/v1/users/{userId}/password",
        set_user_password,
        ADMIN_OR_SELF.to("user.edit"),
        raw_body=True,
    ),
)

"""The operations about sessions: logging in and out, and the question who one is."""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web

from resolute.api import devices, passwords, wire
from resolute.api.call import Call
from resolute.api.client_address import client_address, counted_as, is_in, parsed
from resolute.api.edge import origins
from resolute.api.identity.messages import (
    CurrentUser,
    CurrentUserAnswer,
    GetMe,
    LegacyMe,
    LegacyMeAnswer,
    Login,
    LoginAnswer,
    Logout,
    MeAnswer,
)
from resolute.api.identity.shown import queries_of, user_of
from resolute.api.kernel.messages import Empty
from resolute.api.logins import Claim
from resolute.api.wire import WireError
from resolute.proto.identity import CloseSessions, OpenSession
from resolute.service.addresses import is_loopback


async def login(call: Call, request: Login) -> web.StreamResponse:
    """A token for whoever knows the password; also set as the cookie `auth`."""
    username = request.body.username
    form = passwords.client_form(request.body.password, hashed=request.body.is_hashed)
    cookie = call.request.cookies.get(devices.COOKIE, "")
    account = await call.gateway.logins.account(Claim(username, form, _address(call), call.principal, cookie))
    if not form and not _called_by_its_own_name(call):
        raise WireError(
            wire.PERMISSION_DENIED,
            f"a blank password is taken only from who calls the gateway localhost or 127.0.0.1; found "
            f"{call.request.host!r}, at {_reached_at(call)}. Set a password, then any name will do",
        )
    if not account.active:
        raise WireError(wire.PERMISSION_DENIED, "user is not active")
    return await _opened(call, account.user_id, username)


def _address(call: Call) -> str:
    """The client's address as limits count it; empty where a proxy does not say whom it speaks for."""
    settings, peer = call.gateway.settings, parsed(call.request.remote or "")
    if peer is not None and is_in(peer, settings.silent_proxies):
        return ""
    address = client_address(call.request, settings.trusted_proxies)
    found = parsed(address)
    return "" if found is not None and is_in(found, settings.trusted_proxies) else counted_as(address)


def _called_by_its_own_name(call: Call) -> bool:
    """A page of the web may give its own name the address 127.0.0.1, a proxy may lend the gateway another name, and
    tasks reach it at another address: none of them must open what is open only to this machine."""
    try:
        return is_loopback(_reached_at(call)) and is_loopback(urlsplit(f"//{call.request.host}").hostname)
    except ValueError:
        return False


def _reached_at(call: Call) -> str:
    """The address of ours that the caller has connected to."""
    transport = call.request.transport
    found = transport.get_extra_info("sockname") if transport is not None else None
    return str(found[0]) if found else "an unknown address"


async def _opened(call: Call, user_id: int, username: str) -> web.StreamResponse:
    gateway = call.gateway
    session_id = (await gateway.context.log.reserve("session"))[0]
    opened_at = gateway.context.now()
    token, expires_at = await gateway.sessions.open(user_id, session_id, opened_at)
    await call.send(OpenSession(user_id, session_id, opened_at, expires_at), cause=call.cause_of(username))
    response = wire.json_response(LoginAnswer(token=token, user=await user_of(call, user_id)))
    lifetime = gateway.settings.session_lifetime_days * 86400
    trusted = gateway.settings.trusted_proxies
    secure = origins.asked(call.request, trusted).secure
    response.headers[origins.TOKEN_HEADER] = gateway.csrf_token(token)
    response.set_cookie("auth", token, path="/", httponly=True, secure=secure, samesite="Lax", max_age=int(lifetime))
    response.set_cookie(
        devices.COOKIE,
        gateway.logins.device_cookie(user_id),
        path=devices.PATH,
        httponly=True,
        secure=secure,
        samesite="Strict",
        max_age=int(devices.LIFETIME.total_seconds()),
    )
    return response


async def logout(call: Call, request: Logout) -> web.StreamResponse:
    """End the session that asks."""
    session_id = call.principal.session_id
    if session_id is not None:
        await call.gateway.sessions.close(session_id)
        await call.send(CloseSessions(call.principal.user_id, (session_id,)))
    response = wire.json_response(Empty())
    response.del_cookie("auth", path="/")
    return response


async def current_user(call: Call, request: CurrentUser) -> CurrentUserAnswer:
    """Who one is."""
    return CurrentUserAnswer(user=await user_of(call, call.principal.user_id))


async def me(call: Call, request: GetMe) -> MeAnswer:
    """Who one is."""
    return MeAnswer(user=await user_of(call, call.principal.user_id))


async def legacy_me(call: Call, request: LegacyMe) -> LegacyMeAnswer:
    """Who one is, for older clients."""
    row = await queries_of(call).user_named(call.principal.username)
    assert row is not None  # a session's user was joined with this very table
    return LegacyMeAnswer(id=row.id, username=row.username, admin=row.admin, active=row.active)

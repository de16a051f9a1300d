"""The operations about sessions: logging in and out, and the question who one is."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from resolute.api import devices, passwords, wire
from resolute.api.call import Call
from resolute.api.client_address import client_address, counted_as, is_in, parsed
from resolute.api.edge import origins
from resolute.api.identity.messages import (
    Credentials,
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
from resolute.api.kernel.messages import Empty, Message
from resolute.api.logins import Claim
from resolute.api.wire import WireError
from resolute.proto.identity import CloseSessions, OpenSession
from resolute.service.addresses import is_loopback


async def login(call: Call, request: Login) -> web.StreamResponse:
    """A token for whoever knows the password; also set as the cookie `auth`."""
    session = await opened(call, request.body)
    return with_cookies(call, session, LoginAnswer(token=session.token, user=await user_of(call, session.user_id)))


@dataclass(frozen=True, slots=True)
class OpenedSession:
    user_id: int
    token: str = field(repr=False)


async def opened(call: Call, credentials: Credentials) -> OpenedSession:
    """A new session for whoever knows the password. Raises WireError for a wrong password, a user who is not active,
    and a blank password that is given from another machine."""
    username = credentials.username
    form = passwords.client_form(credentials.password, hashed=credentials.is_hashed)
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
    gateway = call.gateway
    session_id = (await gateway.context.log.reserve("session"))[0]
    opened_at = gateway.context.now()
    token, expires_at = await gateway.sessions.open(account.user_id, session_id, opened_at)
    await call.send(OpenSession(account.user_id, session_id, opened_at, expires_at), cause=call.cause_of(username))
    return OpenedSession(account.user_id, token)


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


def with_cookies(call: Call, session: OpenedSession, answer: Message) -> web.Response:
    """`answer`, with the cookies by which a browser is signed in from now on."""
    gateway = call.gateway
    response = wire.json_response(answer)
    lifetime = gateway.settings.session_lifetime_days * 86400
    trusted = gateway.settings.trusted_proxies
    secure = origins.asked(call.request, trusted).secure
    response.headers[origins.TOKEN_HEADER] = gateway.csrf_token(session.token)
    response.set_cookie(
        "auth", session.token, path="/", httponly=True, secure=secure, samesite="Lax", max_age=int(lifetime)
    )
    response.set_cookie(
        devices.COOKIE,
        gateway.logins.device_cookie(session.user_id),
        path=call.request.path,  # it is of use where somebody signs in, and nowhere else
        httponly=True,
        secure=secure,
        samesite="Strict",
        max_age=int(devices.LIFETIME.total_seconds()),
    )
    return response


async def logout(call: Call, request: Logout) -> web.StreamResponse:
    """End the session that asks."""
    return await ended(call, Empty())


async def ended(call: Call, answer: Message) -> web.Response:
    """`answer`, once the session that asks has ended, where there is one."""
    session_id = call.principal.session_id
    if session_id is not None:
        await call.gateway.sessions.close(session_id)
        await call.send(CloseSessions(call.principal.user_id, (session_id,)))
    response = wire.json_response(answer)
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

"""Logging in: a session for a user, with a token of the store that `det` keeps, or with a password."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from determined.common.api import errors
from determined.common.client import address
from determined.common.client.claims import claim
from determined.common.client.password import on_the_wire
from determined.common.client.tokens import TokenStore
from determined.common.client.trust import Trust
from determined.common.experimental._session import UserSession


def session(master: str | None, user: str | None, password: str | None, trust: Trust | None) -> UserSession:
    """A session that is logged in. A kept token that the master still takes comes before the password."""
    where = address.choose(master)
    store = TokenStore()
    claimed = claim(user, store.at(where))
    opened = UserSession(where, claimed.token or "", user=claimed.user, trust=trust)
    if not (claimed.token and _still_good(opened)):
        secret = password if password is not None else claimed.password
        opened.use(_token(opened, claimed.user, _ask(claimed.user) if secret is None else secret))
        store.put(where, store.at(where).with_token(claimed.user, opened.token))
    return opened


def log_out(opened: UserSession) -> None:
    """End the session at the master, and forget its token."""
    opened.post("/api/v1/auth/logout")
    store = TokenStore()
    store.put(opened.master, store.at(opened.master).without(opened.user))
    opened.use("")


def trust_of(cert_path: str | None, cert_name: str | None, noverify: bool) -> Trust | None:
    """What the arguments of `login` say of the master's certificate; None where they say nothing."""
    if cert_path is None and cert_name is None and not noverify:
        return None
    return Trust(cafile=cert_path, server_name=cert_name, verify=not noverify)


def _still_good(opened: UserSession) -> bool:
    try:
        opened.get("/api/v1/me")
    except errors.UnauthenticatedException:
        return False
    return True


def _token(opened: UserSession, user: str, secret: str) -> str:
    body = {"username": user, "password": on_the_wire(secret), "isHashed": True}
    opened.use("")
    try:
        answer: dict[str, Any] = opened.post("/api/v1/auth/login", body)
    except errors.UnauthenticatedException:
        raise errors.InvalidCredentialsException() from None
    return str(answer["token"])


def _ask(user: str) -> str:
    if not sys.stdin.isatty():
        raise errors.UnauthenticatedException(
            f"a password is needed for user {user!r}: give it to login(), log in with `det user login`, or set "
            "DET_USER and DET_PASS"
        )
    return getpass.getpass(f"Password for user '{user}': ")

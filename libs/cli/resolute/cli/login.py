"""Logging in: which user a command acts as, and where the token comes from.

In this order: `-u`; DET_USER with DET_PASS; the active user of the token store; DET_USER with
DET_USER_TOKEN, as inside a task; and at last the user `determined` with an empty password.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass

from resolute.cli import address, password
from resolute.cli.errors import ApiError, CliError, NotFound, Unauthenticated
from resolute.cli.session import Session
from resolute.cli.tokens import Logins, TokenStore

WIRE_VERSION = "0.38.1"
DEFAULT_USER = "determined"


@dataclass(frozen=True, slots=True)
class Claim:
    """The user that a command acts as, with the password or token, where these were given; otherwise the command
    asks."""

    user: str
    password: str | None = None
    token: str | None = None


def claim(given: str | None, logins: Logins, environment: Mapping[str, str] = os.environ) -> Claim:
    name, secret = environment.get("DET_USER") or None, environment.get("DET_PASS")
    if given:
        known = secret if given == name else None
        return Claim(given, _blank_for_default(given, known), logins.tokens.get(given))
    if name and secret is not None:
        return Claim(name, secret, logins.tokens.get(name))
    if logins.active_user:
        active = logins.active_user
        return Claim(active, _blank_for_default(active, None), logins.tokens.get(active))
    if name and (token := environment.get("DET_USER_TOKEN")):
        return Claim(name, token=token)
    return Claim(DEFAULT_USER, "", logins.tokens.get(DEFAULT_USER))


def session(args: Namespace) -> Session:
    """A session for this command, logged in; tokens gained on the way are kept for the next command."""
    master = address.choose(args.master)
    warn_of_another_version(master)
    store = TokenStore()
    claimed = claim(args.user, store.at(master))
    opened = Session(master, claimed.token or "")
    opened.user = claimed.user
    if not (claimed.token and _still_good(opened)):
        opened.token = _prove(opened, claimed)
        store.put(master, store.at(master).with_token(claimed.user, opened.token))
    return opened


def log_in(master: str, user: str, secret: str) -> str:
    """Trade a password for a token. Raises Unauthenticated when it is not the right one."""
    body = {"username": user, "password": password.on_the_wire(secret), "isHashed": True}
    return str(Session(master).post("/api/v1/auth/login", body)["token"])


def warn_of_another_version(master: str) -> None:
    """Say so when the master speaks another version of the wire, or when something else lives there."""
    try:
        version = Session(master).get("/info").get("version")
    except NotFound:
        raise CliError(f"{master} answers, but it is no master: it has no /info") from None
    if version != WIRE_VERSION:
        print(f"Warning: the master speaks {version}, this client {WIRE_VERSION}", file=sys.stderr)


def _blank_for_default(user: str, known: str | None) -> str | None:
    return "" if known is None and user == DEFAULT_USER else known


def _still_good(opened: Session) -> bool:
    try:
        opened.get("/api/v1/me")
    except Unauthenticated:
        return False
    return True


def _prove(opened: Session, claimed: Claim) -> str:
    if claimed.password is not None:
        try:
            return log_in(opened.master, claimed.user, claimed.password)
        except Unauthenticated as error:
            if not (claimed.password == "" and sys.stdin.isatty()):
                raise _not_let_in(claimed.user, error) from error
    return log_in(opened.master, claimed.user, password.ask(f"Password for user '{claimed.user}': "))


def _not_let_in(user: str, error: ApiError) -> CliError:
    return CliError(f"{error}: not logged in as '{user}'. Log in with `det user login`, or set DET_USER and DET_PASS")

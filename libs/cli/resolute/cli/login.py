"""Logging in: a session for a command, as the user that `claim` finds."""

from __future__ import annotations

import sys
from argparse import Namespace

from determined.common.client.claims import DEFAULT_USER as DEFAULT_USER
from determined.common.client.claims import Claim, claim
from resolute.cli import address, password
from resolute.cli.errors import ApiError, CliError, NotFound, Unauthenticated
from resolute.cli.session import Session
from resolute.cli.tokens import TokenStore

WIRE_VERSION = "0.38.1"


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

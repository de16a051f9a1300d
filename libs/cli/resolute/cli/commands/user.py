"""Users: logging in and out, and changing the list of users."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from resolute.cli import address, output, password
from resolute.cli.errors import ApiError, CliError
from resolute.cli.login import DEFAULT_USER, log_in, session, warn_of_another_version
from resolute.cli.session import Session
from resolute.cli.tokens import Logins, TokenStore


def login_(args: Namespace) -> None:
    """Trade a password for a token and make its owner the active user."""
    master = address.choose(args.master)
    warn_of_another_version(master)
    user = args.username or args.user or _ask_name()
    token = log_in(master, user, password.ask(f"Password for user '{user}': "))
    store = TokenStore()
    tokens = store.at(master).with_token(user, token).tokens
    store.put(master, Logins(user, tokens))
    print(f"Logged in as user '{user}'")


def _ask_name() -> str:
    if not sys.stdin.isatty():
        raise CliError("which user? Name one: det user login NAME")
    return input(f"Username [{DEFAULT_USER}]: ").strip() or DEFAULT_USER


def logout(args: Namespace) -> None:
    """End sessions here and at the master; a master that is away forgets them by itself in time."""
    master = address.choose(args.master)
    store = TokenStore()
    logins = store.at(master)
    user = args.user or logins.active_user or DEFAULT_USER
    leaving = list(logins.tokens) if args.all else [user]
    for name in leaving:
        if token := logins.tokens.get(name):
            _end(Session(master, token))
        logins = logins.without(name)
    store.put(master, Logins() if args.all else logins)
    print(f"Logged out {', '.join(leaving)}" if leaving else "Nobody was logged in")


def _end(opened: Session) -> None:
    try:
        opened.post("/api/v1/auth/logout")
    except ApiError as error:
        print(f"Warning: the master did not end the session: {error}", file=sys.stderr)


def whoami(args: Namespace) -> None:
    name = session(args).get("/api/v1/me")["user"]["username"]
    print(f"You are logged in as user '{name}'")


def list_(args: Namespace) -> None:
    found = list(session(args).pages("/api/v1/users", "users", {"active": None if args.all else True}))
    if args.json:
        output.show_json(found)
        return
    headers = [
        "User Id", "Username", "Display Name", "Admin", "Active", "Remote",
        "Agent Uid", "Agent Gid", "Agent User", "Agent Group",
    ]  # fmt: skip
    output.show_table(headers, [_row(user) for user in found], as_csv=args.csv)


def _row(user: dict[str, Any]) -> list[Any]:
    host = user.get("agentUserGroup") or {}
    return [
        user.get("id"),
        user["username"],
        user.get("displayName") or "N/A",
        user["admin"],
        user["active"],
        user.get("remote", False),
        *(host.get(key, "N/A") for key in ("agentUid", "agentGid", "agentUser", "agentGroup")),
    ]


def create(args: Namespace) -> None:
    opened = session(args)
    if args.remote:
        secret = {}
    else:
        chosen = password.ask_twice(args.username, "say --password") if args.password is None else args.password
        secret = {"password": password.on_the_wire(chosen), "isHashed": True}
    user = {"username": args.username, "admin": args.admin, "active": True, "remote": args.remote}
    created = opened.post("/api/v1/users", {"user": user, **secret}).get("user") or {}
    print(f"Created user '{args.username}' (ID {created.get('id')})")


def change_password(args: Namespace) -> None:
    opened = session(args)
    target = args.target_user or opened.user
    found = _find(opened, target)
    opened.post(
        f"/api/v1/users/{found['id']}/password", password.on_the_wire(password.ask_twice(target, "change it at one"))
    )
    print(f"Changed password of user '{target}'")


def activate(args: Namespace) -> None:
    _edit(session(args), args.username, {"active": True})
    print(f"Activated user '{args.username}'")


def deactivate(args: Namespace) -> None:
    _edit(session(args), args.username, {"active": False})
    print(f"Deactivated user '{args.username}'")


def rename(args: Namespace) -> None:
    _edit(session(args), args.target_user, {"username": args.new_username})
    print(f"User '{args.target_user}' is now '{args.new_username}'")


def link_with_agent_user(args: Namespace) -> None:
    if args.agent_uid is None or args.agent_gid is None:
        raise CliError("a user and a group of the agents' hosts are needed: --agent-uid N --agent-gid N")
    wanted = {
        "agentUid": args.agent_uid,
        "agentUser": args.agent_user,
        "agentGid": args.agent_gid,
        "agentGroup": args.agent_group,
    }
    group = {key: value for key, value in wanted.items() if value is not None}
    _edit(session(args), args.det_username, {"agentUserGroup": group})
    print(f"Tasks of user '{args.det_username}' run as {args.agent_uid}:{args.agent_gid} on the agents")


def edit(args: Namespace) -> None:
    wanted = {
        "displayName": args.display_name,
        "username": args.username,
        "remote": args.remote,
        "active": args.activate,
        "admin": args.admin,
    }
    changes = {key: value for key, value in wanted.items() if value is not None}
    if not changes:
        raise CliError("nothing to change; see `det user edit --help` for what can be")
    _edit(session(args), args.target_user, changes)
    print(f"Changed {', '.join(changes)} of user '{args.target_user}'")


def _edit(opened: Session, name: str, changes: dict[str, Any]) -> None:
    opened.patch(f"/api/v1/users/{_find(opened, name)['id']}", changes)


def _find(opened: Session, name: str) -> dict[str, Any]:
    user: dict[str, Any] = opened.get(f"/api/v1/users/{name}/by-username")["user"]
    return user

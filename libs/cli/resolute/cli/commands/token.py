"""Access tokens: making, showing, describing and revoking them, and signing in with one."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import address, output
from resolute.cli.errors import CliError
from resolute.cli.login import session, warn_of_another_version
from resolute.cli.session import Session
from resolute.cli.tokens import Logins, TokenStore

TOKENS = "/api/v1/tokens"

HEADERS = ["ID", "User ID", "Description", "Created At", "Expires At", "Revoked", "Token Type"]


def create(args: Namespace) -> None:
    if args.expiration_days is not None and args.expiration_days != -1 and args.expiration_days < 1:
        raise CliError(f"--expiration-days: expected at least 1, or -1 for the longest; found {args.expiration_days}")
    opened = session(args)
    body: dict[str, Any] = {"userId": _user_id(opened, args.username or opened.user)}
    if args.expiration_days is not None:
        body["lifespan"] = "-1" if args.expiration_days == -1 else f"{args.expiration_days * 24}h"
    if args.description is not None:
        body["description"] = args.description
    made = opened.post(TOKENS, body)
    if not _as_text(args, made):
        print(f"TokenID: {made['tokenId']}\nAccess-Token: {made['token']}")


def list_(args: Namespace) -> None:
    _show(args, _found(session(args), username=args.username, showInactive=args.show_inactive))


def describe(args: Namespace) -> None:
    found = _found(session(args), tokenIds=args.token_id, showInactive=True)
    missing = set(args.token_id) - {one["id"] for one in found}
    if missing:
        raise CliError(f"no access token with ID {', '.join(map(str, sorted(missing)))}; see `det token list`")
    _show(args, found)


def edit(args: Namespace) -> None:
    if args.description is None:
        raise CliError("what is to be changed? Give --description")
    changed = _change(args, {"description": args.description})
    if not _as_text(args, changed):
        output.show_json(changed)
    print(f"Successfully updated token with ID: {args.token_id}.")


def revoke(args: Namespace) -> None:
    output.show_json(_change(args, {"setRevoked": True}))
    print(f"Successfully revoked token {args.token_id}.")


def login(args: Namespace) -> None:
    """Keep the token for its user, and make this the active user."""
    master = address.choose(args.master)
    warn_of_another_version(master)
    user = Session(master, args.token).get("/api/v1/me")["user"]["username"]
    store = TokenStore()
    store.put(master, Logins(user, store.at(master).with_token(user, args.token).tokens))
    print(f"Authenticated as {user}.")


def _change(args: Namespace, change: dict[str, Any]) -> dict[str, Any]:
    token_id = _number(args.token_id)
    changed: dict[str, Any] = session(args).patch(f"{TOKENS}/{token_id}", {"tokenId": token_id, **change})["tokenInfo"]
    return changed


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise CliError(f"expected the number of an access token; found {text!r}; see `det token list`")
    return int(text)


def _user_id(opened: Session, name: str) -> int:
    return int(opened.get(f"/api/v1/users/{name}/by-username")["user"]["id"])


def _found(opened: Session, **query: Any) -> list[dict[str, Any]]:
    return list(opened.pages(TOKENS, "tokenInfo", query))


def _show(args: Namespace, found: list[dict[str, Any]]) -> None:
    if not _as_text(args, found):
        output.show_table(HEADERS, [_row(one) for one in found])


def _row(token: dict[str, Any]) -> list[Any]:
    created, expiry = token.get("createdAt"), token.get("expiry")
    kind = token.get("tokenType", "").removeprefix("TOKEN_TYPE_")
    return [token["id"], token["userId"], token.get("description"), created, expiry, token.get("revoked", False), kind]


def _as_text(args: Namespace, shown: Any) -> bool:
    """Whether it was printed as JSON or YAML, as it was asked for."""
    if args.json:
        output.show_json(shown)
    elif args.yaml:
        output.show_yaml(shown)
    return bool(args.json or args.yaml)

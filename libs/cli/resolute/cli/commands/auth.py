"""Single sign-on: a cluster has no providers of it, and these words say so."""

from __future__ import annotations

from argparse import Namespace

from resolute.cli import address
from resolute.cli.errors import CliError
from resolute.cli.session import Session

_BY_PASSWORD = "sign in with a password instead: `det user login`"


def list_providers(args: Namespace) -> None:
    """The names of the SSO providers, one a line. Works without being signed in."""
    names = _providers(address.choose(args.master))
    print("\n".join(names) if names else "No SSO providers found.")


def login(args: Namespace) -> None:
    """Always an error: the reason depends on what the master offers."""
    master = address.choose(args.master)
    names = _providers(master)
    if not names:
        raise CliError(f"{master} has no SSO providers; {_BY_PASSWORD}")
    if args.provider is not None and args.provider not in names:
        raise CliError(f"{master} has no SSO provider '{args.provider}', only {', '.join(names)}; {_BY_PASSWORD}")
    raise CliError(f"this client cannot sign in through an SSO provider ({', '.join(names)}); {_BY_PASSWORD}")


def _providers(master: str) -> list[str]:
    return [str(each["name"]) for each in Session(master).get("/info").get("sso_providers") or ()]

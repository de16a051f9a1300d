"""How a password travels: never as typed, but as the salted sha512 that every client of this wire sends."""

from __future__ import annotations

import getpass
import hashlib
import sys

from resolute.cli.errors import CliError

_SALT = "GubPEmmotfiK9TMD6Zdw"


def on_the_wire(password: str) -> str:
    """The hex digest sent with `isHashed: true`; the empty password stays empty."""
    return hashlib.sha512((_SALT + password).encode()).hexdigest() if password else ""


LOG_IN = "set DET_USER and DET_PASS"


def ask(prompt: str, otherwise: str = LOG_IN) -> str:
    """A password typed at the terminal, unseen; `otherwise` is what one does without a terminal."""
    if not sys.stdin.isatty():
        raise CliError(f"a password is needed and there is no terminal to ask at; {otherwise}")
    return getpass.getpass(prompt)


def ask_twice(user: str, otherwise: str) -> str:
    first = ask(f"New password for user '{user}': ", otherwise)
    if ask("Confirm password: ", otherwise) != first:
        raise CliError("the two passwords differ; nothing was changed")
    return first

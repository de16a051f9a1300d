"""Asking for a password at the terminal."""

from __future__ import annotations

import getpass
import sys

from determined.common.client.password import on_the_wire as on_the_wire
from resolute.cli.errors import CliError

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

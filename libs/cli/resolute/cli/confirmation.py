"""Asks the person before an action that cannot be undone."""

from __future__ import annotations

import sys

from resolute.cli.errors import CliError


def agreed(given: bool, question: str) -> bool:
    """Whether the person agrees; `given`: whether `--yes` was given. Raises CliError where nobody can be asked."""
    if given:
        return True
    if not sys.stdin.isatty():
        raise CliError("this needs a yes, and there is no terminal to ask at; say --yes")
    while (answer := input(f"{question} [y/n]: ").strip().lower()) not in ("y", "yes", "n", "no"):
        print("Please respond with 'y'/'yes' or 'n'/'no'")
    return answer in ("y", "yes")


def confirmed(given: bool, question: str) -> None:
    """Returns when the person agrees; `given`: whether `--yes` was given. Raises CliError otherwise."""
    if given:
        return
    if not sys.stdin.isatty():
        raise CliError("this needs a yes, and there is no terminal to ask at; say --yes")
    if input(f"{question} [y/N]: ").strip().lower() not in ("y", "yes"):
        raise CliError("stopped; nothing was changed")

"""The reference of every command, as Markdown, written from the table of commands.

`python -m resolute.cli.reference PATH` writes it; a test keeps docs/reference/cli.md current.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from resolute.cli.surface import DET, RESOLUTE
from resolute.cli.tree import Arg, Command, OneOf

_INTRODUCTION = """\
# Command line reference

Written by `python -m resolute.cli.reference docs/reference/cli.md` from the table of commands; edit that instead.

Long options can be shortened as long as they stay unambiguous (`--follow` for `--follow-first-trial`), every
level has a `help` command, and aliases combine (`det e ls`). A command ends with status 0 when it succeeded,
1 when it failed, 2 when the words made no command, 3 when it was interrupted from the keyboard.

Which master: `-m`, then `DET_MASTER`, then `DET_MASTER_ADDR`, then `localhost:8080`. Which user: `-u`, then
`DET_USER` with `DET_PASS`, then whoever logged in last, then `DET_USER` with `DET_USER_TOKEN`, then `determined`
with an empty password. A certificate to trust is named by `DET_MASTER_CERT_FILE` (a path, or `noverify`) and
`DET_MASTER_CERT_NAME`.
"""


def markdown() -> str:
    parts = [_INTRODUCTION]
    for program in (DET, RESOLUTE):
        parts += [f"## {program.name}\n\n{program.help}\n", *_options(program.args)]
        for path, command in program.walk():
            if len(path) > 1 and not command.hidden:
                parts += _section(path, command)
    return "\n".join(parts).rstrip() + "\n"


def _section(path: tuple[str, ...], command: Command) -> Iterator[str]:
    level = "#" * min(len(path) + 1, 5)
    positionals = [_positional(each) for each in _flat(command.args) if not each.flags[0].startswith("-")]
    yield f"{level} `{' '.join([*path, *positionals])}`\n"
    yield command.help[:1].upper() + command.help[1:] + "." + _also(command) + "\n"
    yield from _options(command.args)


def _also(command: Command) -> str:
    words = ""
    if command.aliases:
        words += " Also: " + ", ".join(f"`{alias}`" for alias in command.aliases) + "."
    if command.default:
        words += f" Without a command it runs `{command.default}`."
    return words


def _options(args: tuple[Arg | OneOf, ...]) -> Iterator[str]:
    shown = [each for each in _flat(args) if each.settings.get("help") is not argparse.SUPPRESS]
    if shown:
        yield "| argument | meaning |\n|---|---|\n" + "\n".join(map(_row, shown)) + "\n"


def _row(argument: Arg) -> str:
    names = ", ".join(f"`{name}`" for name in argument.flags)
    return f"| {names} | {_meaning(argument)} |".replace("(true|false)", "(true or false)")


def _meaning(argument: Arg) -> str:
    text = str(argument.settings.get("help", ""))
    if choices := argument.settings.get("choices"):
        text += f" ({', '.join(choices)})"
    default = argument.settings.get("default")
    is_told = default not in (None, False, True, argparse.SUPPRESS) and default != []
    return text + (f"; `{default}` unless given" if is_told else "")


def _positional(argument: Arg) -> str:
    name = argument.settings.get("metavar") or argument.flags[0]
    return f"[{name}]" if argument.settings.get("nargs") in ("?", "*") else str(name)


def _flat(args: tuple[Arg | OneOf, ...]) -> Iterator[Arg]:
    for each in args:
        if isinstance(each, OneOf):
            yield from each.args
        else:
            yield each


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown())

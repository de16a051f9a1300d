"""The words of a command line as data: commands, their sub-commands, their arguments.

One table describes everything that a person can type; the parser, the reference in the docs and the tests
all read it. A command names its handler as text (`experiment:create`), so that starting `det` imports
nothing that this one command does not need.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Arg:
    """An option or a positional argument; `settings` are those of `ArgumentParser.add_argument`."""

    flags: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Arguments of which at most one may be given (exactly one, if `required`)."""

    args: tuple[Arg, ...]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One level of the tree. `help` reads well after "Failed to"; `run` is `module:function`.

    `default` names the sub-command that runs when none is given.
    """

    name: str
    help: str
    run: str = ""
    args: tuple[Arg | OneOf, ...] = ()
    commands: tuple[Command, ...] = ()
    aliases: tuple[str, ...] = ()
    default: str = ""
    hidden: bool = field(default=False)

    def walk(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
        """Every command below and including this one, with the words that lead to it."""
        path = (*above, self.name)
        yield path, self
        for command in self.commands:
            yield from command.walk(path)


def arg(*flags: str, **settings: Any) -> Arg:
    return Arg(flags, settings)


def flag(*flags: str, help: str, **settings: Any) -> Arg:
    return Arg(flags, {"action": "store_true", "help": help, **settings})


def one_of(*args: Arg, required: bool = False) -> OneOf:
    return OneOf(args, required)


def truth(text: str) -> bool:
    """`true` or `false`, as the options that take a word want it."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise ArgumentTypeError(f"expected true or false, found {text!r}")


def int_or_none(text: str) -> int | None:
    return None if text.lower() == "none" else int(text)


def existing_file(text: str) -> Path:
    """A file that can be opened; `-` is standard input."""
    path = Path(text)
    if text != "-" and not path.is_file():
        hint = f"it is a directory: name a configuration file in it, then the directory: {text}/<name>.yaml {text}"
        raise ArgumentTypeError(hint if Path(text).is_dir() else f"no such file: {text}")
    return path

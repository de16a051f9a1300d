"""Everything that can be typed after `det` and `resolute`."""

from __future__ import annotations

import pkgutil
from argparse import SUPPRESS, Action, ArgumentParser
from importlib import import_module
from typing import Any

from resolute.cli.tree import Command, arg


class _PrintVersion(Action):
    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('resolute')}")
        parser.exit()


_VERSION = arg("-v", "--version", action=_PrintVersion, nargs=0, default=SUPPRESS, help="print the version and stop")

_WHO_AND_WHERE = (
    arg("-u", "--user", metavar="username", help="who to act as"),
    arg("-m", "--master", metavar="address", help="master to talk to; DET_MASTER, then localhost:8080 otherwise"),
    _VERSION,
)


def _words(program: str) -> tuple[Command, ...]:
    """What the modules of this package add to a program (`OF_DET`, `OF_RESOLUTE`), by name."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    found: list[Command] = [command for module in modules for command in getattr(module, program, ())]
    return tuple(sorted(found, key=lambda command: command.name))


DET = Command("det", "Train deep-learning models on a cluster.", args=_WHO_AND_WHERE, commands=_words("OF_DET"))

RESOLUTE = Command(
    "resolute", "Look into what a cluster remembers.", args=_WHO_AND_WHERE, commands=_words("OF_RESOLUTE")
)

"""Parses a launcher's command line: flags of the framework before `--`, then a trial class or a script."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn


class Job(NamedTuple):
    """What every worker runs. `overrides`: flags of the framework; `flags`: flags of the launcher."""

    overrides: tuple[str, ...]
    trial: str | None
    script: tuple[str, ...]
    flags: frozenset[str] = frozenset()

    @property
    def program(self) -> tuple[str, ...]:
        if self.trial is None:
            return self.script
        return (sys.executable, "-m", "determined.exec.harness", "--trial", self.trial)


def parse(name: str, words: Sequence[str], flags: Sequence[str] = ()) -> Job:
    """`flags`: those that only this launcher has. Prints the problem and raises SystemExit for a line that is wrong."""
    overrides, words = split(list(words))
    usage = f"%(prog)s [[{name.upper()}_OVERRIDES...] --] {''.join(f'[{flag}] ' for flag in flags)}"
    parser = argparse.ArgumentParser(prog=name, usage=usage + "(--trial TRIAL)|(SCRIPT...)")
    parser.add_argument("--trial", help="module:Class of a trial to train")
    parser.set_defaults(flags=[])
    for flag in flags:
        parser.add_argument(flag, action="append_const", const=flag, dest="flags")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    arguments = parser.parse_args(words)
    if arguments.trial and arguments.script:
        _refuse(parser, "extra arguments to --trial")
    if not arguments.trial and not arguments.script:
        _refuse(parser, "empty script")
    return Job(tuple(overrides), arguments.trial, tuple(arguments.script), frozenset(arguments.flags))


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before and after the first `--`. A `--` after the script belongs to the script."""
    if "--" not in words or (words[0] != "--" and not words[0].startswith("-")) or words[0].startswith("--trial"):
        return [], words
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _refuse(parser: argparse.ArgumentParser, reason: str) -> NoReturn:
    parser.print_usage(sys.stderr)
    print(f"{parser.prog}: {reason}", file=sys.stderr)
    raise SystemExit(1)

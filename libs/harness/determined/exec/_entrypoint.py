"""Interprets an `entrypoint`: a command that replaces this process, or a trial class to train in this process."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from typing import NamedTuple

# Commands in which a shell would have nothing to expand: they are run without one.
PLAIN_PYTHON = re.compile(r"^python3?( [\w./:=,@%+-]+)+$", re.ASCII)
PLAIN_WORDS = re.compile(r"^[\w./:=,@%+-]+( +[\w./:=,@%+-]+)*$", re.ASCII)
PYTHON = re.compile(r"^python(3(\.\d+)?)?$", re.ASCII)
TRIAL_CLASS = re.compile(r"^[\w.]+:[\w.]+$", re.ASCII)


class Command(NamedTuple):
    """A program that replaces this process."""

    argv: tuple[str, ...]


class TrialClass(NamedTuple):
    """A trial class. Its training loop runs in this process, which saves starting another one."""

    spec: str


def interpret(entrypoint: object, slots: int, python: str, launcher: str = "torch_distributed") -> Command | TrialClass:
    """A list is an argv; `module:Class` names a trial class; any other text is a command line for the shell. `launcher`
    starts the workers of a trial class with several slots.

    Raises ValueError for any other value.
    """
    match entrypoint:
        case [str(), *rest] if all(isinstance(word, str) for word in rest):
            return _interpret_argv([str(word) for word in entrypoint], slots, python, launcher)
        case str() as text if TRIAL_CLASS.match(text.strip()):
            return _trial(text.strip(), slots, python, launcher)
        case str() as text if PLAIN_PYTHON.match(text):
            return Command(tuple(text.split()))
        case str() as text if text.strip():
            return Command(("sh", "-c", text))
    raise ValueError(f"entrypoint: expected a command (a string or a list of strings), found {entrypoint!r}")


def _interpret_argv(argv: list[str], slots: int, python: str, launcher: str) -> Command | TrialClass:
    if len(argv) == 1 and TRIAL_CLASS.match(argv[0]):
        return _trial(argv[0], slots, python, launcher)
    return Command(tuple(argv))


def _trial(spec: str, slots: int, python: str, launcher: str) -> Command | TrialClass:
    if slots <= 1:
        return TrialClass(spec)
    return Command((python, "-m", f"determined.launch.{launcher}", "--", "--trial", spec))


def from_command_line(words: Sequence[str], config_entrypoint: object) -> object:
    """The words of the command line after `--`, or the entrypoint of the configuration when there are none."""
    rest = list(words[1:] if words[:1] == ["--"] else words)
    return rest or config_entrypoint


def missing(argv: Sequence[str]) -> str | None:
    """Why `argv` cannot run: its program or script is missing. None when nothing is known to be missing."""
    if argv[:2] == ("sh", "-c"):
        return _missing_from_shell(argv[2])
    if shutil.which(argv[0]) is None:
        return f"cannot run {argv[0]!r}: No such file or directory"
    script = argv[1] if len(argv) > 1 else ""
    if PYTHON.match(os.path.basename(argv[0])) and script.endswith(".py") and not os.path.exists(script):
        return f"there is no file {script!r} in the context directory"
    return None


def _missing_from_shell(line: str) -> str | None:
    """As `missing`, for a line that is only a program with its arguments; None for other lines, which only a shell can
    interpret."""
    if not PLAIN_WORDS.match(line) or "=" in line.split()[0]:
        return None
    import subprocess

    program = line.split()[0]
    known = subprocess.run(["sh", "-c", 'command -v "$0"', program], stdout=subprocess.DEVNULL, check=False)
    return None if known.returncode == 0 else f"cannot run {program!r}: No such file or directory"

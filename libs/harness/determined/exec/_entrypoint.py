"""What an `entrypoint` means: a command to become, or a trial class to train right here."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from typing import NamedTuple

# Words in which a shell would find nothing to do: the shell is spared.
PLAIN_PYTHON = re.compile(r"^python3?( [\w./:=,@%+-]+)+$", re.ASCII)
PLAIN_WORDS = re.compile(r"^[\w./:=,@%+-]+( +[\w./:=,@%+-]+)*$", re.ASCII)
PYTHON = re.compile(r"^python(3(\.\d+)?)?$", re.ASCII)
TRIAL_CLASS = re.compile(r"^[\w.]+:[\w.]+$", re.ASCII)


class Command(NamedTuple):
    """Another program takes over this process."""

    argv: tuple[str, ...]


class TrialClass(NamedTuple):
    """The training loop runs in this process, which spares it a second start."""

    spec: str


def interpret(entrypoint: object, slots: int, python: str, launcher: str = "torch_distributed") -> Command | TrialClass:
    """A list is an argv; module:Class names a trial class; any other text is for the shell. `launcher` starts the
    workers of a trial class that has several slots.

    Raises ValueError for what is none of these.
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
    """The command line's own words after `--`, else what the configuration says."""
    rest = list(words[1:] if words[:1] == ["--"] else words)
    return rest or config_entrypoint


def missing(argv: Sequence[str]) -> str | None:
    """What `argv` would run that is not there, in words; None where it is, as far as one can see."""
    if argv[:2] == ("sh", "-c"):
        return _missing_from_shell(argv[2])
    if shutil.which(argv[0]) is None:
        return f"cannot run {argv[0]!r}: No such file or directory"
    script = argv[1] if len(argv) > 1 else ""
    if PYTHON.match(os.path.basename(argv[0])) and script.endswith(".py") and not os.path.exists(script):
        return f"there is no file {script!r} in the context directory"
    return None


def _missing_from_shell(line: str) -> str | None:
    """Of a line that only names a program and its words; what else a shell makes of its lines, it knows best."""
    if not PLAIN_WORDS.match(line) or "=" in line.split()[0]:
        return None
    import subprocess

    program = line.split()[0]
    known = subprocess.run(["sh", "-c", 'command -v "$0"', program], stdout=subprocess.DEVNULL, check=False)
    return None if known.returncode == 0 else f"cannot run {program!r}: No such file or directory"

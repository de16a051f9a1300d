"""What an `entrypoint` means: a command to become, or a trial class to train right here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Words in which a shell would find nothing to do: the shell is spared.
PLAIN_PYTHON = re.compile(r"^python3?( [\w./:=,@%+-]+)+$", re.ASCII)
TRIAL_CLASS = re.compile(r"^[\w.]+:[\w.]+$", re.ASCII)


class Command(NamedTuple):
    """Another program takes over this process."""

    argv: tuple[str, ...]


class TrialClass(NamedTuple):
    """The training loop runs in this process, which spares it a second start."""

    spec: str


def interpret(entrypoint: object, slots: int, python: str) -> Command | TrialClass:
    """A list is an argv; module:Class names a trial class; any other text is for the shell.

    Raises ValueError for what is none of these.
    """
    match entrypoint:
        case [str(), *rest] if all(isinstance(word, str) for word in rest):
            return _interpret_argv([str(word) for word in entrypoint], slots, python)
        case str() as text if TRIAL_CLASS.match(text.strip()):
            return _trial(text.strip(), slots, python)
        case str() as text if PLAIN_PYTHON.match(text):
            return Command(tuple(text.split()))
        case str() as text if text.strip():
            return Command(("sh", "-c", text))
    raise ValueError(f"entrypoint: expected a command (a string or a list of strings), found {entrypoint!r}")


def _interpret_argv(argv: list[str], slots: int, python: str) -> Command | TrialClass:
    if len(argv) == 1 and TRIAL_CLASS.match(argv[0]):
        return _trial(argv[0], slots, python)
    return Command(tuple(argv))


def _trial(spec: str, slots: int, python: str) -> Command | TrialClass:
    if slots <= 1:
        return TrialClass(spec)
    return Command((python, "-m", "determined.launch.torch_distributed", "--", "--trial", spec))


def from_command_line(words: Sequence[str], config_entrypoint: object) -> object:
    """The command line's own words after `--`, else what the configuration says."""
    rest = list(words[1:] if words[:1] == ["--"] else words)
    return rest or config_entrypoint

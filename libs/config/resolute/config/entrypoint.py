"""What an entrypoint names: a trial class or a script, and whether the context directory holds it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Sequence
from itertools import pairwise

from resolute.proto.errors import InvalidConfig

_TRIAL_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"(?:.*/)?python(?:\d(?:\.\d+)?)?")
_SHELLS = frozenset({"sh", "bash", "/bin/sh", "/bin/bash"})
_SHELL_SYNTAX = re.compile(r"[;&|<>$`(){}*?~\n]")
_LAUNCHER = "determined.launch."
_LAUNCHERS = ("torch_distributed", "horovod", "deepspeed", "autohorovod")
_PROGRAMS = frozenset({*_LAUNCHERS, "wrap_rank"})  # wrap_rank launches nothing: it prefixes a rank's output
_TAKES_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})  # python's own options with a word after them


def is_trial_class(entrypoint: str | Sequence[str] | None) -> bool:
    """Whether this is the older form, `module:Class`."""
    return isinstance(entrypoint, str) and bool(_TRIAL_CLASS.fullmatch(entrypoint.strip()))


def check_entrypoint(entrypoint: str | Sequence[str] | None, files: Collection[str]) -> None:
    """Raise InvalidConfig when the script or trial class is certainly not in the context of `files`, or the launcher
    not in this release.

    `files` are the context's paths, relative, with forward slashes. Nothing is said where nothing can be
    known: shell syntax, absolute paths, installed modules, and contexts whose startup hook may fetch more.
    """
    check_launcher(entrypoint)
    missing = missing_file(entrypoint, files)
    if missing is None:
        return
    shown = entrypoint if isinstance(entrypoint, str) else shlex.join(entrypoint or ())
    hint = "Add it, or correct the name; .detignore may be leaving it out."
    raise InvalidConfig(f"entrypoint: expected {missing} in the context directory; found {shown!r}. {hint}")


def missing_file(entrypoint: str | Sequence[str] | None, files: Collection[str]) -> str | None:
    """What the entrypoint runs that is certainly not among `files`, in words; None where nothing is known to be."""
    missing = _missing(_words(entrypoint), frozenset(posixpath.normpath(path) for path in files))
    return None if "startup-hook.sh" in files else missing


def check_launcher(entrypoint: str | Sequence[str] | None) -> None:
    """Raise InvalidConfig for a launcher that this release does not have."""
    for option, module in pairwise(_words(entrypoint)):
        name = module.removeprefix(_LAUNCHER)
        if option == "-m" and name != module and name not in _PROGRAMS:
            raise InvalidConfig(
                f"entrypoint: expected a launcher of this release ({', '.join(_LAUNCHERS)}); found {module}. "
                f"Write python3 -m {_LAUNCHER}torch_distributed in its place, or module:Class for a trial on one slot."
            )


def _words(entrypoint: str | Sequence[str] | None) -> list[str]:
    if not isinstance(entrypoint, str):
        return list(entrypoint or ())
    if _SHELL_SYNTAX.search(entrypoint):
        return []
    try:
        words = shlex.split(entrypoint)
    except ValueError:  # an unclosed quote: the shell will say so better
        return []
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        words.pop(0)  # NAME=value before the command
    return words


def _missing(words: Sequence[str], files: frozenset[str]) -> str | None:
    """What `words` run that is not among `files`, or None when it is there or cannot be known."""
    if not words:
        return None
    first, rest = words[0], words[1:]
    if len(words) == 1 and is_trial_class(first):
        return _missing_module(first, files)
    if _PYTHON.fullmatch(first):
        return _missing_from_python(rest, files)
    if first in _SHELLS:
        return _missing_file(rest[0], files) if rest and not rest[0].startswith("-") else None
    return _missing_file(first, files) if first.startswith("./") else None


def _missing_from_python(words: Sequence[str], files: frozenset[str]) -> str | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m":
            return _missing_from_launcher(words[at + 1 :], files)
        if words[at] in ("-c", "-"):
            return None
        at += 2 if words[at] in _TAKES_VALUE else 1
    return _missing_file(words[at], files) if at < len(words) else None


def _missing_from_launcher(words: Sequence[str], files: frozenset[str]) -> str | None:
    """`determined.launch.X [overrides --] (--trial module:Class | script …)`; of other modules nothing is known."""
    if not words or not words[0].startswith("determined.launch."):
        return None
    rest = list(words[1:])
    rest = rest[rest.index("--") + 1 :] if "--" in rest else rest
    if len(rest) >= 2 and rest[0] == "--trial":
        return _missing_module(rest[1], files) if is_trial_class(rest[1]) else None
    if rest and rest[0].endswith(".py"):
        return _missing_file(rest[0], files)
    return _missing(rest, files)


def _missing_file(path: str, files: frozenset[str]) -> str | None:
    path = posixpath.normpath(path)
    if posixpath.isabs(path) or path.startswith("..") or path in files:
        return None
    if posixpath.join(path, "__main__.py") in files:
        return None
    return f"the file {path}"


def _missing_module(trial: str, files: frozenset[str]) -> str | None:
    module = trial.split(":")[0]
    base = module.replace(".", "/")
    if f"{base}.py" in files or f"{base}/__init__.py" in files:
        return None
    top = module.split(".")[0]
    if top != module and not any(path == f"{top}.py" or path.startswith(f"{top}/") for path in files):
        return None  # a package that is not from the context may well be installed
    return f"the file {base}.py, for the trial class {trial},"

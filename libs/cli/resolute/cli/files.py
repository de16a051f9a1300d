"""The files that travel with an experiment: the context directory, and whatever `--include` adds to it."""

from __future__ import annotations

import stat
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from resolute.cli.errors import CliError
from resolute.config.context import ContextFile, hides_the_harness, read_context


def gather(model_def: Path | None, include: Sequence[Path]) -> list[ContextFile]:
    """Everything to send; an included file or directory goes to the root of the context under its own name."""
    found = read_context(model_def) if model_def is not None else []
    for path in include:
        found += _included(path)
    for name, times in Counter(each.path for each in found).items():
        if times > 1:
            raise CliError(f"{name} is sent {times} times; leave it out of the directory or of --include")
    if hiding := hides_the_harness(each.path for each in found):
        raise CliError(
            f"{hiding} would hide the package `determined` from the trial, whose start needs it: rename it, or leave "
            "it out with a line in .detignore"
        )
    return found


def _included(path: Path) -> list[ContextFile]:
    if path.is_dir():
        root = path.resolve().name
        return [replace(each, path=f"{root}/{each.path}") for each in read_context(path)]
    if not path.is_file():
        raise CliError(f"--include {path}: no such file or directory")
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    return [ContextFile(path.name, ord(tarfile.REGTYPE), path.read_bytes(), mode, int(status.st_mtime))]

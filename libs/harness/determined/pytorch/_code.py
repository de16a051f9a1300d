"""The model definition that goes into each checkpoint, so that it can be loaded without the experiment."""

from __future__ import annotations

import contextlib
import fnmatch
import logging
import os
import pathlib
import shutil
import stat

from determined import constants
from determined.exec._unpack import unpack

logger = logging.getLogger("determined.pytorch")

# The limit of a submitted context directory. A working directory may be a user's home directory.
SIZE_MAX = 95 << 20
_NEVER = ("__pycache__", "*.pyc")


def copy_code(target: pathlib.Path, on_cluster: bool, leave_out: pathlib.Path | None = None) -> None:
    """Copies the code to `target`: on a cluster as it was submitted, elsewhere the working directory, without the files
    that .detignore names and without `leave_out`, the folder of the checkpoints."""
    archive = pathlib.Path(os.environ.get("DET_RUN_DIR") or constants.DEFAULT_RUN_DIR) / constants.CONTEXT_ARCHIVE
    target.mkdir(parents=True, exist_ok=True)
    if on_cluster and archive.exists():
        unpack(archive.read_bytes(), target)
        return
    source = pathlib.Path.cwd()
    files = _files(source, _ignored(source), leave_out)
    if sum(size for _, size in files) > SIZE_MAX:
        logger.warning("the working directory is over 95 MB, so checkpoints are saved without it; see .detignore")
        return
    for path, _ in files:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        # The program may remove files of its own meanwhile.
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(path, place)


def _ignored(source: pathlib.Path) -> tuple[str, ...]:
    ignore = source / ".detignore"
    if not ignore.is_file():
        return _NEVER
    lines = (line.strip() for line in ignore.read_text().splitlines())
    return (*_NEVER, *(line.strip("/") for line in lines if line and not line.startswith(("#", "!"))))


def _files(
    source: pathlib.Path, ignored: tuple[str, ...], leave_out: pathlib.Path | None
) -> list[tuple[pathlib.Path, int]]:
    """The regular files with their sizes. The search stops when they exceed SIZE_MAX."""
    found: list[tuple[pathlib.Path, int]] = []
    total = 0
    for at, folders, names in os.walk(source):
        here = pathlib.Path(at)
        folders[:] = [name for name in folders if _belongs(here / name, source, ignored, leave_out)]
        for name in names:
            path = here / name
            if _matches(path, source, ignored):
                continue
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    found.append((path, status.st_size))
                    total += status.st_size
        if total > SIZE_MAX:
            break
    return found


def _belongs(
    folder: pathlib.Path, source: pathlib.Path, ignored: tuple[str, ...], leave_out: pathlib.Path | None
) -> bool:
    """Whether the folder is copied. Hidden folders are not: tools keep caches and histories there."""
    hidden = folder.name.startswith(".")
    return not hidden and folder != leave_out and not _matches(folder, source, ignored)


def _matches(path: pathlib.Path, source: pathlib.Path, patterns: tuple[str, ...]) -> bool:
    relative = path.relative_to(source).as_posix()
    return any(fnmatch.fnmatch(path.name, one) or fnmatch.fnmatch(relative, one) for one in patterns)

"""Files in a folder that a task may write to, opened so that the task cannot lead the agent elsewhere.

A task may put anything in the place of a file: a link to one that only the agent may read, or a pipe that
blocks every process that opens it. Only ordinary files of the folder itself are read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_to_read(file: Path) -> BinaryIO:
    """Raises FileNotFoundError for anything but a regular file with a single name."""
    return open(_opened(file, os.O_RDONLY), "rb", buffering=0)


def open_to_write(file: Path) -> BinaryIO:
    """Opens a new or emptied file. Raises FileNotFoundError for anything but a regular file with a single name."""
    descriptor = _opened(file, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(descriptor, 0)
    return open(descriptor, "wb", buffering=0)


def read(file: Path, most: int = 4096) -> bytes:
    with open_to_read(file) as opened:
        return opened.read(most)


_CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTDIR)
"""The errors for a link, a pipe without a reader, and a directory."""


def _opened(file: Path, flags: int) -> int:
    try:
        descriptor = os.open(file, flags | _CAREFULLY, 0o600)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise FileNotFoundError(error.errno, f"no ordinary file ({error.strerror})", str(file)) from error
        raise
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, "no ordinary file", str(file))

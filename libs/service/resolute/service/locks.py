"""Locks on files that show whether a process is alive: the kernel releases a lock when the last process that holds it
has ended."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path


def is_held(file: Path) -> bool:
    """Whether some process holds an exclusive lock on `file`; False when there is no such file, or it is a link."""
    try:
        lock = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            return False
        raise
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False

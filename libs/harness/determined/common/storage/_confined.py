"""Opening and removing what lies below a folder that tasks may write to at the same time.

A path that was checked may lead elsewhere a moment later, when a task puts a link into it. So each folder on the way
is opened by itself, without following links, and the last step is made in the folder that was opened. A link on the
way counts as a file that is not there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import shutil
import stat
from collections.abc import Collection, Iterator
from typing import BinaryIO

_NO_LINKS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""O_NONBLOCK: a named pipe is not waited for."""

_NOT_THERE = (errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
"""What the kernel says of a link that may not be followed, of a file on the way, and of a socket."""


def open_file(root: pathlib.Path, names: Collection[str]) -> BinaryIO:
    """Read the file `names` below `root`. Raises FileNotFoundError for links, folders and devices."""
    *above, name = names
    with _folder(root, above) as folder, _links_are_missing():
        file = os.fdopen(os.open(name, _NO_LINKS, dir_fd=folder), "rb", closefd=True)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FileNotFoundError(errno.ENOENT, "not a file", name)
    return file


def remove(root: pathlib.Path, names: Collection[str]) -> None:
    """Remove `names` below `root` and all it holds. What is gone already is no error."""
    *above, name = names
    with contextlib.suppress(FileNotFoundError), _folder(root, above) as folder:
        while _is_there(name, folder):  # again, when someone wrote in between
            _remove(name, folder)


def remove_empty(root: pathlib.Path, name: str) -> None:
    """Remove the folders without anything in them, from the deepest up, `name` below `root` included."""
    with contextlib.suppress(FileNotFoundError), _folder(root, ()) as folder:
        for _, folders, _, here in os.fwalk(name, topdown=False, dir_fd=folder):
            for below in folders:
                _remove_if_empty(below, here)
        _remove_if_empty(name, folder)


@contextlib.contextmanager
def _folder(root: pathlib.Path, names: Collection[str]) -> Iterator[int]:
    """A descriptor of the folder `names` below `root`. Raises FileNotFoundError where one of them is a link or no
    folder."""
    with contextlib.ExitStack() as opened, _links_are_missing():
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, folder)
        for name in names:
            folder = os.open(name, _NO_LINKS | os.O_DIRECTORY, dir_fd=folder)
            opened.callback(os.close, folder)
        yield folder


@contextlib.contextmanager
def _links_are_missing() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno not in _NOT_THERE:
            raise
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), problem.filename) from problem


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _remove(name: str, folder: int) -> None:
    """A link is removed, what it leads to is not."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _remove_if_empty(name: str, folder: int) -> None:
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as problem:
        if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ENOENT):
            raise

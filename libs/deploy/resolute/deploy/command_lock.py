"""One command at a time changes a cluster: it holds a lock in the cluster's directory, and the next command waits.

The kernel keeps the lock (`flock`), and releases it when the process that holds it ends, however that happens.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from resolute.deploy.paths import ClusterPaths, make_private
from resolute.proto.errors import NotFound, Refused

PATIENCE_S = 1.0
"""How long a command waits before it prints what it waits for."""


@contextmanager
def lock_cluster(paths: ClusterPaths, command: str, *, may_be_first: bool = False) -> Iterator[None]:
    """Holds the lock of the cluster while inside. Where another command holds it for a while, this prints which one.

    Raises NotFound where there is no such directory, unless `may_be_first`: then the directory is made, and is removed
    afterwards if it is still empty. Raises Refused where the directory cannot be used.
    """
    lock, made = _acquire(paths, may_be_first)
    with lock:
        with suppress(OSError):  # a full disk must not prevent `cluster-down`: the file then names no command
            lock.truncate(0)
            lock.write(f"{command} (pid {os.getpid()})".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                _leave_nothing_without_a_cluster(paths, lock, made)


def _acquire(paths: ClusterPaths, may_be_first: bool) -> tuple[FileIO, bool]:
    """The lock's file, locked, and whether its directory was made for it.

    The file may be deleted together with the cluster while this waits: then there is a new file, or none.
    """
    made = False
    while True:
        try:
            lock = FileIO(paths.command_lock, "a+", opener=_private)
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise _unusable(paths, error) from error
            if not may_be_first:
                raise NotFound(f"no cluster in {paths.root}; --cluster-name or --data-dir name another") from error
            _make(paths)
            made = True
            continue
        with ExitStack() as unless_locked:
            unless_locked.enter_context(lock)
            _wait_for(lock, paths)
            if _is_at(lock, paths.command_lock):
                unless_locked.pop_all()
                return lock, made


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _make(paths: ClusterPaths) -> None:
    try:
        make_private(paths.root)
    except OSError as error:
        raise _unusable(paths, error) from error


def _unusable(paths: ClusterPaths, error: OSError) -> Refused:
    return Refused(f"cannot write to {paths.root}: {error.strerror}; free it, or choose another with --data-dir")


def _wait_for(lock: FileIO, paths: ClusterPaths) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.02)
    lock.seek(0)
    holder = lock.read().decode() or "another command"
    print(f"waiting for {holder} to be done with {paths.root}", file=sys.stderr, flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)


def _is_at(lock: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _leave_nothing_without_a_cluster(paths: ClusterPaths, lock: FileIO, made: bool) -> None:
    if not paths.description.exists() and _is_at(lock, paths.command_lock):
        paths.command_lock.unlink()
        if made:
            paths.root.rmdir()  # unless something is in it

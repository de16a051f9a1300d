"""One command at a time changes a cluster: each holds a lock in the cluster's directory, and the next one waits.

The lock is the kernel's (`flock`), so it goes with whoever held it, however they ended.
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

from resolute.deploy.places import Places, make_private
from resolute.proto.errors import NotFound, Refused

PATIENCE_S = 1.0
"""How long to wait without a word."""


@contextmanager
def turn(places: Places, command: str, *, may_be_first: bool = False) -> Iterator[None]:
    """Hold the cluster until left, after whoever holds it now; says whom it waits for when that takes a while.

    Raises NotFound where there is no such directory, unless `may_be_first`: then it is made, and is gone again
    afterwards if nothing was put into it. Raises Refused where it cannot be used.
    """
    lock, made = _mine(places, may_be_first)
    with lock:
        with suppress(OSError):  # on a full disk nobody is told who it is, and the cluster can still be taken down
            lock.truncate(0)
            lock.write(f"{command} (pid {os.getpid()})".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                _leave_nothing_without_a_cluster(places, lock, made)


def _mine(places: Places, may_be_first: bool) -> tuple[FileIO, bool]:
    """The lock's file, locked, and whether its directory was made for it.

    It may be deleted while we wait, with the cluster: then there is another, or none.
    """
    made = False
    while True:
        try:
            lock = FileIO(places.turn, "a+", opener=_private)
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise _unusable(places, error) from error
            if not may_be_first:
                raise NotFound(f"no cluster in {places.root}; --cluster-name or --data-dir name another") from error
            _make(places)
            made = True
            continue
        with ExitStack() as unless_mine:
            unless_mine.enter_context(lock)
            _wait_for(lock, places)
            if _is_at(lock, places.turn):
                unless_mine.pop_all()
                return lock, made


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _make(places: Places) -> None:
    try:
        make_private(places.root)
    except OSError as error:
        raise _unusable(places, error) from error


def _unusable(places: Places, error: OSError) -> Refused:
    return Refused(f"cannot write to {places.root}: {error.strerror}; free it, or choose another with --data-dir")


def _wait_for(lock: FileIO, places: Places) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.02)
    lock.seek(0)
    holder = lock.read().decode() or "another command"
    print(f"waiting for {holder} to be done with {places.root}", file=sys.stderr, flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)


def _is_at(lock: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _leave_nothing_without_a_cluster(places: Places, lock: FileIO, made: bool) -> None:
    if not places.description.exists() and _is_at(lock, places.turn):
        places.turn.unlink()
        if made:
            places.root.rmdir()  # unless something is in it

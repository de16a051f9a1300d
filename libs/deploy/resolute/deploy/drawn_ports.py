"""The ports that clusters of this user have drawn lately, so that two clusters which start at once draw different ones.

A server listens some time after its port was drawn. Until then the port is free to every probe, and another cluster
that starts in the same second could draw it as well; then the server that comes second cannot start.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LATELY_S = 120.0
"""By then the server of a port that was drawn listens, or will not be started any more."""

FILE = Path(tempfile.gettempdir()) / f"resolute-ports-of-{os.geteuid()}"


@contextmanager
def drawn_lately(file: Path | None = None) -> Iterator[set[int]]:
    """The ports that were drawn lately. What is added inside counts as drawn now; other processes of this user wait
    meanwhile. Where the file cannot be used, no port is known, and none is remembered."""
    descriptor = _opened(file or FILE)
    if descriptor is None:
        yield set()
        return
    with os.fdopen(descriptor, "r+", encoding="ascii", errors="replace") as notes:
        fcntl.flock(notes, fcntl.LOCK_EX)
        now_s = time.time()
        known = _read(notes.read(), now_s)
        ports = set(known)
        yield ports
        notes.seek(0)
        notes.truncate()
        notes.writelines(f"{port} {int(known.get(port, now_s))}\n" for port in sorted(ports))


def _opened(file: Path) -> int | None:
    """A file of this user, and no link: others may write to the directory as well."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    if os.fstat(descriptor).st_uid == os.geteuid():
        return descriptor
    os.close(descriptor)
    return None


def _read(text: str, now_s: float) -> dict[int, float]:
    """When each port was drawn, of those that were lately."""
    notes = {int(port): float(at_s) for port, at_s in re.findall(r"^(\d{1,5}) (\d{1,12})$", text, re.MULTILINE)}
    return {port: at_s for port, at_s in notes.items() if 0 <= now_s - at_s < LATELY_S}

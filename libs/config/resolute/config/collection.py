"""Reading large documents without setting off the collector of garbage.

Making a hundred thousand small objects sets the collector off again and again. As it finds nothing (all of them are in
use), each run takes longer than the one before, and all the while the whole process is held up.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_readers = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """The collector does not run until the last thread that is in here has left."""
    global _readers
    _readers += 1
    gc.disable()
    try:
        yield
    finally:
        _readers -= 1
        if _readers == 0:
            gc.enable()

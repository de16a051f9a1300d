"""Watches the resident memory of a cluster's processes while it is attacked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

EVERY_S = 0.5
MIB = 1024 * 1024


class MemoryWatch:
    """`most_bytes`: of each process of the cluster, by name, the largest resident size seen."""

    def __init__(self, children: Callable[[], Mapping[str, int]]) -> None:
        self._children = children
        self._stop = threading.Event()
        self.most_bytes: dict[str, int] = {}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name="memory watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _work(self) -> None:
        while not self._stop.wait(EVERY_S):
            with suppress(OSError, ValueError, KeyError):  # the status file is being replaced, or the cluster is down
                for name, size in resident_bytes(self._children()).items():
                    self.most_bytes[name] = max(size, self.most_bytes.get(name, 0))


def resident_bytes(children: Mapping[str, int]) -> dict[str, int]:
    """Of each process that lives, what it holds in memory now."""
    found = {}
    for name, pid in children.items():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            found[name] = int(psutil.Process(pid).memory_info().rss)
    return found

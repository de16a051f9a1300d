"""Watches the resident memory of a cluster's processes while it is attacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

from tests.attack.background import Background

MIB = 1024 * 1024


class MemoryWatch(Background):
    """`most_bytes`: of each process of the cluster, by name, the largest resident size seen."""

    every_s = 0.5

    def __init__(self, children: Callable[[], Mapping[str, int]]) -> None:
        super().__init__()
        self._children = children
        self.most_bytes: dict[str, int] = {}

    def round(self) -> None:
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

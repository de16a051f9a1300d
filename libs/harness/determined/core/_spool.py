"""A first-in-first-out queue of byte strings: a bounded part is in memory, and the rest on disk."""

from __future__ import annotations

import collections
import os
import pathlib
import struct
from typing import BinaryIO

MEMORY_BYTES = 4 << 20
_LENGTH = struct.Struct(">I")


class Spool:
    """The queue. The order is kept: once an item is on disk, later items go to the disk as well, until the disk part is
    empty. Not safe for several threads at once; the owner holds a lock."""

    def __init__(self, folder: pathlib.Path, memory_bytes: int = MEMORY_BYTES) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._near: collections.deque[bytes] = collections.deque()
        self._near_bytes = 0
        self._far: _Overflow | None = None

    def __len__(self) -> int:
        return len(self._near) + (len(self._far) if self._far else 0)

    @property
    def on_disk(self) -> int:
        """How many items wait on disk."""
        return len(self._far) if self._far else 0

    def append(self, item: bytes) -> None:
        if self._far is None and self._near and self._near_bytes + len(item) > self._memory_bytes:
            self._far = _Overflow(self._folder)
        if self._far is not None:
            self._far.append(item)
        else:
            self._near.append(item)
            self._near_bytes += len(item)

    def first(self, items_max: int = 1, size_bytes_max: int = 0) -> list[bytes]:
        """The oldest items, which stay in the queue: at most `items_max` with `size_bytes_max` in all, but at least
        one.

        Raises IndexError when there is none.
        """
        found: list[bytes] = []
        size_bytes = 0
        while len(found) < min(items_max, len(self)):
            item = self._at(len(found))
            size_bytes += len(item)
            if found and size_bytes > size_bytes_max:
                break
            found.append(item)
        if not found:
            raise IndexError("the spool is empty")
        return found

    def _at(self, index: int) -> bytes:
        """The item at `index`; moved to memory, when it is the first one on disk."""
        if index == len(self._near) and self._far is not None:
            item = self._far.pop_first()
            self._near.append(item)
            self._near_bytes += len(item)
            if not len(self._far):
                self._close_overflow()
        return self._near[index]

    def drop(self, count: int) -> None:
        """Remove the `count` oldest items, which `first` has returned."""
        for _ in range(count):
            self._near_bytes -= len(self._near.popleft())

    def close(self) -> None:
        self._near.clear()
        self._close_overflow()

    def _close_overflow(self) -> None:
        if self._far is not None:
            self._far.close()
            self._far = None


class _Overflow:
    """A file that is written at its end and read from its beginning. Its name is removed at once, so that the kernel
    frees it when the process ends."""

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = folder / f"unsent-reports-{os.getpid()}-{id(self):x}"
        self._file: BinaryIO = open(name, "x+b")  # noqa: SIM115
        name.unlink()
        self._read_at = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, item: bytes) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(_LENGTH.pack(len(item)) + item)
        self._count += 1

    def pop_first(self) -> bytes:
        self._file.seek(self._read_at)
        (length,) = _LENGTH.unpack(self._file.read(_LENGTH.size))
        item = self._file.read(length)
        assert len(item) == length, "the spool of unsent reports was cut off"
        self._read_at = self._file.tell()
        self._count -= 1
        return item

    def close(self) -> None:
        self._file.close()

"""An append-only event file that TensorBoard's own reader reads."""

from __future__ import annotations

import os
import pathlib
import socket
import threading
import time
from collections.abc import Mapping
from typing import BinaryIO

from determined.tensorboard import _event


class EventFileWriter:
    """One `events.out.tfevents.*` file in `folder`, made with the first scalar. Any thread may write."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def add_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        now = time.time()
        data = _event.record(_event.scalar_event(now, step, scalars))
        with self._lock:
            if self._file is None:
                self._file = self._open(now)
            self._file.write(data)

    def flush(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _open(self, now: float) -> BinaryIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{id(self):x}"
        file: BinaryIO = open(self._folder / name, "ab")  # noqa: SIM115
        file.write(_event.record(_event.version_event(now)))
        return file

"""Copies event files from the task's own folder to the checkpoint storage, where TensorBoard finds them."""

from __future__ import annotations

import fnmatch
import logging
import pathlib
import threading
from collections.abc import Callable

from determined.common import storage

logger = logging.getLogger("determined.tensorboard")

PATTERNS = ("*tfevents*", "*.trace.json", "*.trace.json.gz", "*.memory_profile.json.gz", "*.pb")
SYNC_S = 10.0

Mangler = Callable[[pathlib.Path, int], pathlib.Path]


def storage_folder(cluster_id: str, experiment_id: int, trial_id: int) -> str:
    """The folder of a trial's event files, relative to the root of the checkpoint storage."""
    return f"{storage.event_files(cluster_id, experiment_id)}/trial/{trial_id}"


def with_rank(path: pathlib.Path, rank: int) -> pathlib.Path:
    """The name under which a rank's file is stored. Ranks above 0 add their number, so that no rank overwrites files of
    another."""
    return path if rank == 0 else path.with_name(f"{path.name}#{rank}")


class TensorboardManager:
    """Copies changed files from `base_path` to `target`: on a thread, every SYNC_S, and at the end."""

    def __init__(
        self, base_path: pathlib.Path, storage_manager: storage.StorageManager, target: str, rank: int = 0
    ) -> None:
        self.base_path = base_path
        self._storage = storage_manager
        self._target = target
        self._rank = rank
        self._sent: dict[str, tuple[int, int]] = {}
        self._wake = threading.Event()
        self._closing = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.before_sync: Callable[[], None] | None = None
        base_path.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="tensorboard", daemon=True)
        self._thread.start()

    def nudge(self) -> None:
        """Make the thread copy now; returns at once."""
        self._wake.set()

    def sync(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Mangler = with_rank,
    ) -> None:
        """Copy every changed file for which `selector` is true, under the name that `mangler` returns. Both get the
        path relative to `base_path`. Raises OSError."""
        if self.before_sync is not None:
            self.before_sync()
        with self._lock:
            for path in sorted(self.base_path.rglob("*")):
                relative = path.relative_to(self.base_path)
                if path.is_file() and selector(relative):
                    self._put(path, mangler(relative, self._rank).as_posix())

    def _put(self, path: pathlib.Path, name: str) -> None:
        status = path.stat()
        mark = (status.st_size, status.st_mtime_ns)
        if self._sent.get(name) != mark:
            self._storage.put(path, f"{self._target}/{name}")
            self._sent[name] = mark

    def sync_known_kinds(self) -> None:
        self.sync(lambda path: any(fnmatch.fnmatch(path.name, pattern) for pattern in PATTERNS))

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(SYNC_S)
            self._wake.clear()
            try:
                self.sync_known_kinds()
            except OSError as problem:
                logger.warning("event files could not be stored, will try again: %s", problem)

    def close(self) -> None:
        """Copy a last time, and stop the thread. Has no effect when the thread was not started."""
        if self._thread is not None:
            self._closing = True
            self._wake.set()
            self._thread.join()
            self._thread = None

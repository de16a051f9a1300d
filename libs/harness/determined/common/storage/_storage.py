"""A storage of checkpoints: what tasks, people's programs and the cluster's services may ask of it.

A checkpoint is a tree of files under an id. Nothing outside that tree can be named: see `_names`.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Collection
from typing import BinaryIO, Protocol

METADATA_FILE = "metadata.json"

Choice = Callable[[Collection[str]], Collection[str]]
"""Given the paths of a checkpoint, those that are meant."""


class StorageManager(Protocol):
    """Checkpoints by id, and files that lie beside them.

    **Order.** A checkpoint is written in two phases: its files gather at a place of their own, and `publish` then makes
    all of them appear under the id at once. Who finds the id finds the whole checkpoint.

    **Interruption.** When a writer dies before `publish` has returned, the checkpoint either does not exist or is
    whole. What the writer had staged stays, cannot be found by `listing`, `restore_path`, `download` and `open`, and
    goes with `discard` or `delete`.

    **Names.** Every method raises ValueError for an id that is not one plain name, and for a path that is absolute,
    empty, holds NUL, or leads out with `..`. Folders end in `/` in every listing.

    Calls block; an event loop makes them in a thread. A storage that cannot be reached raises OSError.
    """

    @property
    def root(self) -> pathlib.Path | None:
        """The folder of this machine that everything lies in; None where a storage is not a folder."""
        ...

    def staging(self, storage_id: str) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A folder that every rank may write into; what is there is the checkpoint once published.

        It may be entered again, also by ranks of other machines where the storage is shared by them.
        """
        ...

    def upload(self, source: pathlib.Path, storage_id: str, paths: Collection[str]) -> None:
        """Copy `paths` (relative to `source`, folders with a slash) to the staging place, over what is there."""
        ...

    def settle(self, storage_id: str) -> dict[str, int]:
        """The listing of what is staged as this machine sees it; what this machine wrote is durable by then."""
        ...

    def publish(self, storage_id: str, metadata: bytes) -> dict[str, int]:
        """Add metadata.json, make the checkpoint appear; returns its listing. All of it is durable by then.

        Raises OSError, and changes nothing, where a finished checkpoint of this id is there.
        """
        ...

    def discard(self, storage_id: str) -> None:
        """Remove what was staged. Nothing staged is no error; what cannot be removed is left without an error."""
        ...

    def listing(self, storage_id: str) -> dict[str, int]:
        """Paths of a finished checkpoint to sizes in bytes, sorted by path; folders have size 0.

        Raises CheckpointNotFound where there is no finished checkpoint of this id.
        """
        ...

    def restore_path(self, storage_id: str) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A folder with the files of a finished checkpoint, to read only. Raises CheckpointNotFound."""
        ...

    def download(self, storage_id: str, target: pathlib.Path, paths: Collection[str]) -> None:
        """Copy `paths` of a finished checkpoint into `target`. Raises CheckpointNotFound."""
        ...

    def open(self, storage_id: str, path: str) -> BinaryIO:
        """Read one file of a finished checkpoint. Raises CheckpointNotFound when there is no such file."""
        ...

    def check(self) -> None:
        """Raises OSError where the storage cannot say which checkpoints it has, as where a file system is not mounted.

        Without this check, a storage that is away for a while looks like one whose files were deleted.
        """
        ...

    def delete(self, storage_id: str, choose: Choice | None = None) -> dict[str, int]:
        """Remove a checkpoint with what was staged for it, or only the paths that `choose` picks; returns what is left.

        `choose` gets every path that there is, links out of the checkpoint included. A folder that it picks goes with
        all it holds, and a folder left empty goes too. What is gone already is no error: deleting may be repeated
        after a crash. A link is removed, and what it leads to stays.
        """
        ...

    def put(self, source: pathlib.Path, target: str) -> None:
        """Store one file beside the checkpoints, under `target`, replacing what is there at once.

        A reader finds the former file or the new one, never a part. Not durable before the host writes its caches.
        """
        ...

    def remove(self, target: str) -> None:
        """Remove the file or folder `target` beside the checkpoints. What is gone already is no error."""
        ...

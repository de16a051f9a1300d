"""Storing, fetching and registering checkpoints.

A checkpoint is announced to the cluster. Its files are written to a staging folder, which is then published in one
step. It is reported complete when the gateway has accepted every metric that was reported before it. A checkpoint that
is cut off before that is never offered for restore.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import json
import logging
import os
import pathlib
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from determined.common import api, storage
from determined.common.api._session import segment
from determined.core import _merge
from determined.core._distributed import DistributedContext
from determined.core._metrics import _DummyMetricsContext, _MetricsContext
from determined.core._tensorboard_mode import TensorboardMode
from determined.tensorboard import TensorboardManager

logger = logging.getLogger("determined.core")

Selector = Callable[[str], bool]
Folder = str | os.PathLike[str]


class DownloadMode(enum.Enum):
    """How the ranks of a machine share a download."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class CheckpointContext:
    """Checkpoints of this task, in the storage that its experiment configures."""

    def __init__(
        self,
        dist: DistributedContext,
        storage_manager: storage.StorageManager,
        session: api.Session,
        task_id: str,
        allocation_id: str | None,
        tbd_sync_mode: TensorboardMode,
        tensorboard_manager: TensorboardManager | None,
        storage_backend_id: int | None,
        *,
        metrics: _MetricsContext | None = None,
    ) -> None:
        self._dist = dist
        self._storage = storage_manager
        self._session = session
        self._task_id = task_id
        self._allocation_id = allocation_id
        self._tensorboard_mode = tbd_sync_mode
        self._tensorboard_manager = tensorboard_manager
        self._storage_backend_id = storage_backend_id
        self._metrics = metrics or _DummyMetricsContext()

    def upload(
        self,
        ckpt_dir: Folder | None,
        metadata: dict[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
    ) -> str:
        """Store a folder; returns the new checkpoint's id.

        With shard=True every rank calls it and their files are merged; a rank with nothing to add gives None.
        """
        folder = pathlib.Path(ckpt_dir) if ckpt_dir is not None else None
        if not shard:
            self._chief_only()
            if folder is None:
                raise ValueError("upload: without shard=True a folder is needed, found None")
            return self._upload_alone(folder, metadata or {}, selector)
        return self._upload_shard(folder, metadata or {}, selector)

    def _upload_alone(self, folder: pathlib.Path, metadata: dict[str, Any], selector: Selector | None) -> str:
        self._check_metadata(metadata)
        wanted = _selected(_existing(folder), selector)
        with self._staged(str(uuid.uuid4())) as (_, storage_id):
            self._announce(storage_id, metadata)
            self._storage.upload(folder, storage_id, wanted)
            self._complete(storage_id, metadata)
        return storage_id

    def _upload_shard(self, folder: pathlib.Path | None, metadata: dict[str, Any], selector: Selector | None) -> str:
        with self._together():
            identity = _identity(folder)
        brings = self._brings(identity, selector)
        with self._together():
            listing = _listing(folder, selector) if brings else {}
        merged = self._agree_on_metadata(metadata)
        mine = self._agree_on_files(folder, listing)
        with self._staged_by_all() as storage_id:
            with self._together():
                if self._dist.rank == 0:
                    self._announce(storage_id, merged)
            with self._together():
                if folder is not None and mine:
                    self._storage.upload(folder, storage_id, mine)
            self._agree_on_what_is_staged(storage_id)
            with self._together():
                if self._dist.rank == 0:
                    self._complete(storage_id, merged)
        return storage_id

    def _brings(self, identity: tuple[int, int] | None, selector: Selector | None) -> bool:
        """Whether this rank adds files. Of ranks that share a folder only the lowest does, unless one has a
        selector."""
        ranks = self._dist.allgather_local((identity, selector is not None))
        sharing = [rank for rank, (folder, _) in enumerate(ranks) if folder == identity]
        selecting = any(ranks[rank][1] for rank in sharing)
        return selecting or sharing[0] == self._dist.local_rank

    def _agree_on_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        merged, conflicts = _merge.merge_metadata(self._dist.allgather(metadata))
        if conflicts:
            raise RuntimeError(_merge.explain("metadata", conflicts))
        self._check_metadata(merged)
        return merged

    def _agree_on_files(self, folder: pathlib.Path | None, listing: dict[str, int]) -> set[str]:
        """The paths that this rank has to store. Raises on every rank when the files of the ranks conflict."""
        listings = self._dist.allgather(listing)
        disputed = _merge.contested(listings)
        digests = {path: _digest(folder / path) for path in disputed & set(listing)} if folder else {}
        conflicts = _merge.file_conflicts(listings, self._dist.allgather(digests))
        if conflicts:
            raise RuntimeError(_merge.explain("files", conflicts))
        owners = _merge.owners(listings)
        return {path for path in listing if owners[path] == self._dist.rank}

    @contextlib.contextmanager
    def store_path(
        self, metadata: dict[str, Any] | None = None, *, shard: bool = False
    ) -> Iterator[tuple[pathlib.Path, str]]:
        """A folder to write a checkpoint into, and its id; stored and reported when the block ends well."""
        if not shard:
            self._chief_only()
            self._check_metadata(metadata or {})
            with self._staged(str(uuid.uuid4())) as (path, storage_id):
                yield path, storage_id
                self._announce(storage_id, metadata or {})
                self._complete(storage_id, metadata or {})
            return
        with self._staged_by_all() as storage_id, self._storage.staging(storage_id) as path:
            with self._together():
                yield path, storage_id
            merged = self._agree_on_metadata(metadata or {})
            self._agree_on_what_is_staged(storage_id)
            with self._together():
                if self._dist.rank == 0:
                    self._announce(storage_id, merged)
                    self._complete(storage_id, merged)

    @contextlib.contextmanager
    def _staged_by_all(self) -> Iterator[str]:
        """The id of a checkpoint to which every rank adds files. The staged files are removed when the block fails."""
        storage_id = str(self._dist.broadcast(str(uuid.uuid4())))
        try:
            yield storage_id
        except BaseException:
            if self._dist.local_rank == 0:
                self._storage.discard(storage_id)
            raise

    def _agree_on_what_is_staged(self, storage_id: str) -> None:
        """Makes the staged files durable, and checks that every machine sees the files of all others. Otherwise the
        storage is a local folder of each machine, and the chief would publish only a part of the checkpoint."""
        if self._dist.size == self._dist.local_size:  # not `cross_size`: it counts machines with this local rank only
            return
        with self._together():
            seen = self._storage.settle(storage_id) if self._dist.local_rank == 0 else None
        by_rank = enumerate(self._dist.allgather(seen))
        unseen = _merge.unseen({rank: listing for rank, listing in by_rank if listing is not None})
        if unseen:
            raise RuntimeError(_merge.explain_unseen(unseen))

    @contextlib.contextmanager
    def _staged(self, storage_id: str) -> Iterator[tuple[pathlib.Path, str]]:
        with self._storage.staging(storage_id) as path:
            try:
                yield path, storage_id
            except BaseException:
                self._storage.discard(storage_id)
                raise

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """A barrier at the end of the block. When a rank fails in the block, the others raise too, and name it."""
        try:
            yield
        except BaseException as problem:
            with contextlib.suppress(RuntimeError):  # other ranks may have ended, or have failed elsewhere
                self._dist.allgather(f"{type(problem).__name__}: {problem}")
            raise
        failed = {rank: said for rank, said in enumerate(self._dist.allgather(None)) if said is not None}
        if failed:
            raise RuntimeError("; ".join(f"rank {rank} failed with {said}" for rank, said in failed.items()))

    def download(
        self,
        storage_id: str,
        ckpt_dir: Folder,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> None:
        """Fetch a checkpoint, or the paths that `selector` picks, into a folder.

        When the ranks of a machine share the download, all ranks call this, and every file that any of them selects is
        fetched once for the machine.
        """
        target = pathlib.Path(ckpt_dir)
        shared = download_mode is DownloadMode.LocalWorkersShareDownload and self._dist.size > 1
        if not shared:
            wanted = _selected(self._storage.listing(storage_id), selector)
            self._storage.download(storage_id, target, wanted)
            return
        with self._together():
            wants = _selected(self._storage.listing(storage_id), selector)
        everyone = self._dist.gather_local(wants)
        with self._together():
            if everyone is not None:
                self._storage.download(storage_id, target, set().union(*everyone))

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> Iterator[pathlib.Path]:
        """The folder of a checkpoint, read-only. All ranks enter together, unless `download_mode` says otherwise: when
        one does not find the checkpoint, all of them raise.

        On shared storage this is the folder of the storage itself. Nothing is copied, so `selector` has no effect.
        """
        shared = download_mode is DownloadMode.LocalWorkersShareDownload and self._dist.size > 1
        with contextlib.ExitStack() as stack:
            with self._together() if shared else contextlib.nullcontext():
                path = stack.enter_context(self._storage.restore_path(storage_id))
            yield path

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """The checkpoint's metadata as the master knows it."""
        answer = self._session.get(f"/api/v1/checkpoints/{segment(storage_id)}")
        metadata: dict[str, Any] = answer["checkpoint"].get("metadata") or {}
        return metadata

    def delete(self, storage_id: str) -> None:
        """Delete the files, and report that to the master."""
        self._storage.delete(storage_id)
        self._session.patch(
            "/api/v1/checkpoints",
            {"checkpoints": [{"uuid": storage_id, "resources": {"resources": {}}}]},
        )

    def _chief_only(self) -> None:
        if self._dist.rank != 0:
            raise RuntimeError(
                "cannot call .upload / .store_path with shard=False from a non-chief worker "
                f"(rank {self._dist.rank}): call it on rank 0 only, or on all ranks with shard=True"
            )

    def _check_metadata(self, metadata: dict[str, Any]) -> None:
        if not isinstance(metadata.get("steps_completed"), int):
            raise ValueError(
                "metadata: a checkpoint needs 'steps_completed', the number of batches trained, "
                f"found {metadata.get('steps_completed')!r}"
            )

    def _announce(self, storage_id: str, metadata: dict[str, Any]) -> None:
        self._report(storage_id, metadata, "STATE_ACTIVE", {})

    def _complete(self, storage_id: str, metadata: dict[str, Any]) -> None:
        resources = self._storage.publish(storage_id, json.dumps(metadata, indent=2).encode())
        # A restart continues from this checkpoint, and does not report the metrics before it again.
        self._metrics.flush()
        self._report(storage_id, metadata, "STATE_COMPLETED", resources)
        logger.info("checkpoint %s stored at step %s", storage_id, metadata.get("steps_completed"))
        if self._tensorboard_manager is not None and self._tensorboard_mode is TensorboardMode.AUTO:
            self._tensorboard_manager.nudge()

    def _report(self, storage_id: str, metadata: dict[str, Any], state: str, resources: dict[str, int]) -> None:
        body: dict[str, Any] = {
            "uuid": storage_id,
            "taskId": self._task_id,
            "allocationId": self._allocation_id,
            "state": state,
            "resources": {path: str(size) for path, size in resources.items()},
            "metadata": metadata,
            "training": {},
            "reportTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }
        if self._storage_backend_id is not None:
            body["storageId"] = self._storage_backend_id
        self._session.post("/api/v1/checkpoints", body)


class DummyCheckpointContext(CheckpointContext):
    """Checkpoints in a folder of this machine. No master is involved."""

    def __init__(self, dist: DistributedContext, storage_manager: storage.StorageManager) -> None:
        self._dist = dist
        self._storage = storage_manager
        self._metrics = _DummyMetricsContext()
        self._tensorboard_manager = None
        self._tensorboard_mode = TensorboardMode.AUTO

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        raise NotImplementedError("get_metadata asks the master, and there is none off the cluster")

    def delete(self, storage_id: str) -> None:
        self._storage.delete(storage_id)

    def _check_metadata(self, metadata: dict[str, Any]) -> None:
        return

    def _report(self, storage_id: str, metadata: dict[str, Any], state: str, resources: dict[str, int]) -> None:
        return


def _existing(folder: pathlib.Path) -> dict[str, int]:
    if not folder.is_dir():
        raise ValueError(f"upload: expected a folder, found {folder}")
    return storage.list_resources(folder)


def _identity(folder: pathlib.Path | None) -> tuple[int, int] | None:
    """The device and inode of a folder, by which ranks of one machine see that they share it; None without a folder."""
    try:
        status = folder.stat() if folder is not None else None
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino) if status else None


def _listing(folder: pathlib.Path | None, selector: Selector | None) -> dict[str, int]:
    if folder is None:
        return {}
    listing = _existing(folder)
    wanted = _selected(listing, selector)
    return {path: size for path, size in listing.items() if path in wanted}


def _selected(listing: dict[str, int], selector: Selector | None) -> set[str]:
    """The selected paths, and the folders above them."""
    if selector is None:
        return set(listing)
    return _merge.with_parents({path for path in listing if selector(path)})


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()

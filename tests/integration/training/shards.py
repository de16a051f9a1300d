"""Ranks that store, fetch and lose sharded checkpoints: `python shards.py WHAT FOLDER`, every rank alike."""

from __future__ import annotations

import os
import pathlib
import sys
import time

from determined import core, errors
from determined._info import get_cluster_info

WHAT, PLACE = sys.argv[1], pathlib.Path(sys.argv[2])
RANK, MACHINE = int(os.environ["RANK"]), int(os.environ["GROUP_RANK"])


def upload(context: core.Context) -> None:
    """Files of each rank's own, one that is the same on all, and a folder that the ranks of a machine share."""
    folder = PLACE / f"own-{RANK}"
    folder.mkdir(parents=True)
    (folder / f"weights.{RANK}").write_text(str(RANK) * 100)
    (folder / "vocabulary").write_text("the same")
    metadata = {"steps_completed": 3, "ranks": {str(RANK): MACHINE}}
    one = context.checkpoint.upload(folder, metadata, shard=True)

    shared = PLACE / f"machine-{MACHINE}"
    shared.mkdir(exist_ok=True)
    (shared / f"of-machine-{MACHINE}.{RANK}").write_text("x")
    context.distributed.allgather(None)
    # The other machines bring nothing.
    two = context.checkpoint.upload(shared if MACHINE == 0 else None, metadata, shard=True)
    tell(f"{one} {two}")


def store(context: core.Context) -> None:
    with context.checkpoint.store_path({"steps_completed": 3}, shard=True) as (folder, storage_id):
        (folder / "shards").mkdir(exist_ok=True)
        (folder / "shards" / str(RANK)).write_text(str(RANK))
    tell(storage_id)


def fail(context: core.Context) -> None:
    """Rank 2 fails in the middle; then all of them go on."""
    try:
        with context.checkpoint.store_path({"steps_completed": 3}, shard=True) as (folder, _):
            (folder / str(RANK)).write_text("x")
            if RANK == 2:
                raise OSError("the disk is full")
    except (OSError, RuntimeError) as problem:
        tell(str(problem))
    store(context)


def hold(context: core.Context) -> None:
    """Everybody has written; rank 3 does not leave the block."""
    with context.checkpoint.store_path({"steps_completed": 3}, shard=True) as (folder, _):
        (folder / str(RANK)).write_text("x")
        tell("written")
        while RANK == 3:
            time.sleep(0.01)


def apart(context: core.Context) -> None:
    """What is said where the machines have folders of their own."""
    for way in (upload, store):
        try:
            way(context)
        except RuntimeError as problem:
            tell(str(problem))


def fetch(context: core.Context) -> None:
    info = get_cluster_info()
    assert info is not None
    assert info.latest_checkpoint is not None
    mine = PLACE / f"fetched-{MACHINE}"
    wanted = lambda path: path == f"shards/{RANK}"  # noqa: E731
    context.checkpoint.download(info.latest_checkpoint, mine, selector=wanted)
    found = sorted(path.name for path in (mine / "shards").iterdir())
    alone = PLACE / f"alone-{RANK}"
    unshared = core.DownloadMode.NoSharedDownload
    if RANK % 2:
        context.checkpoint.download(info.latest_checkpoint, alone, unshared, selector=wanted)
        with context.checkpoint.restore_path(info.latest_checkpoint, unshared) as path:
            found += sorted(path.name for path in path.iterdir())
    with context.checkpoint.restore_path(info.latest_checkpoint) as path:
        found.append((path / "shards" / str(RANK)).read_text())
    tell(" ".join(found))


def seek(context: core.Context) -> None:
    """A checkpoint that one machine does not find."""
    info = get_cluster_info()
    assert info is not None
    assert info.latest_checkpoint is not None
    try:
        with context.checkpoint.restore_path(info.latest_checkpoint):
            tell("went on")
    except (RuntimeError, errors.CheckpointNotFound) as problem:
        tell(f"{type(problem).__name__}: {problem}")


def tell(line: str) -> None:
    with (PLACE / f"told.{RANK}").open("a") as file:
        file.write(line.replace("\n", " ") + "\n")


if __name__ == "__main__":
    PLACE.mkdir(parents=True, exist_ok=True)
    if WHAT in ("apart", "seek"):
        os.environ["DET_SHARED_FS_ROOT"] = str(PLACE.parent / f"storage-of-{MACHINE}")
    with core.init(distributed=core.DistributedContext.from_torch_distributed()) as core_context:
        globals()[WHAT](core_context)

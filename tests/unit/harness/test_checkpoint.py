"""Checkpoints: announced, written aside, published whole, reported; by one rank or by all."""

from __future__ import annotations

import json
import pathlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from determined import core, errors
from determined.common import storage
from determined.launch import _layout
from tests.unit.harness.conftest import Master


def write(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_checkpoint_is_announced_then_stored_then_reported_complete(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    master = on_cluster()
    root = tmp_path / "storage"
    with core.init() as context:
        with context.checkpoint.store_path({"steps_completed": 5}) as (path, storage_id):
            write(path, {"weights": "w", "sub/more": "mm"})
            assert not (root / storage_id).exists()
        assert sorted(p.name for p in (root / storage_id).iterdir()) == ["metadata.json", "sub", "weights"]
    announced, completed = master.posted("/checkpoints")
    assert announced["state"] == "STATE_ACTIVE"
    assert completed["state"] == "STATE_COMPLETED"
    assert completed["uuid"] == announced["uuid"] == storage_id
    assert completed["taskId"] == "7.c0ffee"
    assert completed["allocationId"] == "7.c0ffee.1"
    assert completed["storageId"] == 3
    assert completed["metadata"] == {"steps_completed": 5}
    assert completed["resources"] == {
        "metadata.json": str((root / storage_id / "metadata.json").stat().st_size),
        "sub/": "0",
        "sub/more": "2",
        "weights": "1",
    }
    assert json.loads((root / storage_id / "metadata.json").read_text()) == {"steps_completed": 5}


def fail_half_way(context: core.Context) -> None:
    with context.checkpoint.store_path({"steps_completed": 5}) as (path, _):
        write(path, {"weights": "half"})
        raise OSError("disk full")


def test_an_error_while_writing_leaves_nothing_and_reports_nothing(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    master = on_cluster()
    with core.init() as context, pytest.raises(OSError, match="disk full"):
        fail_half_way(context)
    assert master.posted("/checkpoints") == []
    assert list((tmp_path / "storage").iterdir()) == []


def test_a_checkpoint_that_was_cut_off_is_never_found(tmp_path: pathlib.Path) -> None:
    place = storage.DirectoryStorageManager(tmp_path)
    place.upload(write(tmp_path / "from", {"weights": "w"}), "id-1", {"weights"})
    with pytest.raises(errors.CheckpointNotFound), place.restore_path("id-1"):
        pass
    place.publish("id-1", b"{}")
    with place.restore_path("id-1") as path:
        assert (path / "weights").read_text() == "w"


def test_upload_takes_what_the_selector_wants_and_its_folders(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    on_cluster()
    source = write(tmp_path / "source", {"a": "1", "d/b": "2", "d/c": "3", "e/f": "4"})
    with core.init() as context:
        storage_id = context.checkpoint.upload(
            source, {"steps_completed": 1}, selector=lambda path: path in ("d/b", "a")
        )
        target = tmp_path / "target"
        context.checkpoint.download(storage_id, target)
        only = tmp_path / "only"
        context.checkpoint.download(storage_id, only, selector=lambda path: path == "a")
    assert set(storage.list_resources(target)) == {"a", "d/", "d/b", "metadata.json"}
    assert set(storage.list_resources(only)) == {"a"}


def test_metadata_needs_steps_completed_on_a_cluster_only(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    on_cluster()
    with core.init() as context, pytest.raises(ValueError, match="steps_completed"):
        context.checkpoint.upload(write(tmp_path / "s", {"a": ""}), {})


def test_off_the_cluster_checkpoints_go_to_the_users_data_folder(tmp_path: pathlib.Path) -> None:
    with core.init() as context, context.checkpoint.store_path() as (path, storage_id):
        write(path, {"a": "1"})
    assert (tmp_path / "data" / "determined" / storage_id / "a").exists()
    with pytest.raises(NotImplementedError):
        context.checkpoint.get_metadata(storage_id)


def test_deleting_removes_the_files_and_tells_the_master(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    master = on_cluster()
    with core.init() as context:
        storage_id = context.checkpoint.upload(write(tmp_path / "s", {"a": ""}), {"steps_completed": 1})
        context.checkpoint.delete(storage_id)
    assert not (tmp_path / "storage" / storage_id).exists()
    (told,) = [body for method, path, body in master.calls if method == "PATCH"]
    assert told == {"checkpoints": [{"uuid": storage_id, "resources": {"resources": {}}}]}


class Ranks:
    """Checkpoint contexts of several workers over one storage, each acting on a thread of its own: so many on each
    machine."""

    def __init__(self, machines: int | list[int], folder: pathlib.Path) -> None:
        self.places = _layout.ranks([machines] if isinstance(machines, int) else machines)
        self.storage = storage.DirectoryStorageManager(folder)
        self._port = 20_000 + threading.get_native_id() % 10_000

    def act(self, do: Any) -> list[Any]:
        with ThreadPoolExecutor(len(self.places)) as pool:
            return list(pool.map(lambda place: self._on(place, do), self.places))

    def _on(self, place: _layout.Rank, do: Any) -> Any:
        facts = {name: value for name, value in place._asdict().items() if name != "container"}
        dist = core.DistributedContext(**facts, chief_ip="127.0.0.1", pub_port=self._port)
        try:
            return do(place.rank, core.DummyCheckpointContext(dist, self.storage))
        except (RuntimeError, OSError) as problem:
            return problem
        finally:
            dist.close()


def test_ranks_shards_are_merged_and_equal_files_count_once(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        files = {"shared": "same", f"shard-{rank}": str(rank), "d/common": "c"}
        folder = write(tmp_path / f"rank{rank}", files) if rank != 2 else None
        return checkpoint.upload(folder, {"d": {str(rank): rank}}, shard=True)

    ids = set(Ranks(3, tmp_path / "storage").act(do))
    (storage_id,) = ids
    listing = storage.list_resources(tmp_path / "storage" / storage_id)
    assert set(listing) == {"shared", "shard-0", "shard-1", "d/", "d/common", "metadata.json"}
    metadata = json.loads((tmp_path / "storage" / storage_id / "metadata.json").read_text())
    assert metadata == {"d": {"0": 0, "1": 1, "2": 2}}


def test_conflicting_files_are_named_on_every_rank(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        return checkpoint.upload(write(tmp_path / f"rank{rank}", {"weights": str(rank)}), shard=True)

    for problem in Ranks(2, tmp_path / "storage").act(do):
        assert isinstance(problem, RuntimeError)
        assert "weights: ranks 0, 1" in str(problem)


def test_conflicting_metadata_is_named_on_every_rank(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        return checkpoint.upload(None, {"d": {"b": rank}}, shard=True)

    for problem in Ranks(2, tmp_path / "storage").act(do):
        assert "/d/b" in str(problem)


def test_of_ranks_that_share_a_folder_the_lowest_uploads_unless_they_select(tmp_path: pathlib.Path) -> None:
    source = write(tmp_path / "source", {"file-0": "0", "file-1": "1"})

    def together(rank: int, checkpoint: core.CheckpointContext) -> str:
        return checkpoint.upload(source, shard=True)

    def by_selector(rank: int, checkpoint: core.CheckpointContext) -> str:
        return checkpoint.upload(source, shard=True, selector=lambda path: path == f"file-{rank}")

    for do in (together, by_selector):
        storage_id = Ranks(2, tmp_path / "storage").act(do)[0]
        listing = storage.list_resources(tmp_path / "storage" / storage_id)
        assert set(listing) == {"file-0", "file-1", "metadata.json"}


def test_when_one_rank_fails_the_others_are_told_who(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        with checkpoint.store_path(shard=True) as (path, storage_id):
            if rank == 1:
                raise OSError("disk full")
            write(path, {f"shard-{rank}": ""})
        return storage_id

    others, failed = Ranks(2, tmp_path / "storage").act(do)
    assert isinstance(failed, OSError)
    assert "rank 1 failed with OSError: disk full" in str(others)


def test_every_rank_writes_into_one_place_with_store_path(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        with checkpoint.store_path({"steps_completed": 3}, shard=True) as (path, storage_id):
            write(path, {f"shard-{rank}": ""})
        return storage_id

    storage_id, _ = Ranks(2, tmp_path / "storage").act(do)
    listing = storage.list_resources(tmp_path / "storage" / storage_id)
    assert set(listing) == {"shard-0", "shard-1", "metadata.json"}


@pytest.mark.parametrize("machines", [[2, 1], [1, 2], [1, 3, 1]])
def test_machines_of_unequal_numbers_of_ranks_store_one_checkpoint_together(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, machines: list[int]
) -> None:
    """A rank whose like no other machine has is among several machines all the same."""
    monkeypatch.setenv("DET_RESOURCES_ID", "that-of-the-one-with-several-ranks")

    def do(rank: int, checkpoint: core.CheckpointContext) -> tuple[str, str]:
        with checkpoint.store_path({"steps_completed": 3}, shard=True) as (path, stored):
            write(path, {f"shard-{rank}": ""})
        return stored, checkpoint.upload(write(tmp_path / f"rank{rank}", {f"shard-{rank}": ""}), shard=True)

    (ids,) = set(Ranks(machines, tmp_path / "storage").act(do))
    for storage_id in ids:
        listing = storage.list_resources(tmp_path / "storage" / storage_id)
        assert set(listing) == {"metadata.json", *(f"shard-{rank}" for rank in range(sum(machines)))}


def test_a_rank_that_cannot_look_into_its_folder_is_named_on_all(tmp_path: pathlib.Path) -> None:
    """On a machine of several ranks, each of which would hear of the others' folders."""

    def do(rank: int, checkpoint: core.CheckpointContext) -> str:
        name = "x" * 1000 if rank == 1 else f"rank{rank}"  # longer than a file's name may be
        folder = tmp_path / name if rank == 1 else write(tmp_path / name, {"shard": ""})
        return checkpoint.upload(folder, shard=True)

    first, failed, other = Ranks([2, 1], tmp_path / "storage").act(do)
    assert isinstance(failed, OSError)
    for problem in (first, other):
        assert "rank 1 failed with OSError" in str(problem)


def test_what_any_rank_of_a_machine_wants_is_downloaded(tmp_path: pathlib.Path) -> None:
    ranks = Ranks(2, tmp_path / "storage")
    source = write(tmp_path / "source", {"file-0": "0", "file-1": "1", "file-2": "2"})
    storage_id = ranks.act(lambda rank, checkpoint: checkpoint.upload(source, shard=True))[0]

    def fetch(rank: int, checkpoint: core.CheckpointContext) -> None:
        checkpoint.download(storage_id, tmp_path / "target", selector=lambda path: path == f"file-{rank}")

    assert ranks.act(fetch) == [None, None]
    assert set(storage.list_resources(tmp_path / "target")) == {"file-0", "file-1"}


def test_a_worker_may_not_store_alone(tmp_path: pathlib.Path) -> None:
    def do(rank: int, checkpoint: core.CheckpointContext) -> str | None:
        return checkpoint.upload(tmp_path / "x") if rank else None

    _, problem = Ranks(2, tmp_path / "storage").act(do)
    assert "non-chief" in str(problem)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"type": "s3", "bucket": "b"}, "checkpoint_storage.type"),
        ({"type": "shared_fs", "host_path": "relative"}, "checkpoint_storage.host_path"),
        ({"type": "shared_fs", "host_path": "/x", "storage_path": "../y"}, "inside host_path"),
        ({"type": "directory"}, "checkpoint_storage.container_path"),
        ("s3://bucket", "file://"),
    ],
)
def test_a_storage_section_that_makes_no_sense_is_named(section: dict[str, Any] | str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        storage.build(section)


def test_shared_storage_is_found_at_its_path_or_where_the_agent_says(monkeypatch: pytest.MonkeyPatch) -> None:
    section = {"type": "shared_fs", "host_path": "/data/ckpt", "storage_path": "team"}
    assert storage.build(section).root == pathlib.Path("/data/ckpt/team")
    monkeypatch.setenv("DET_SHARED_FS_ROOT", "/elsewhere")
    assert storage.build({**section, "storage_path": "/data/ckpt/team"}).root == pathlib.Path("/elsewhere/team")

"""A `cluster-up` that is refused has begun nothing, and deleted nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resolute.agent import gpus
from resolute.deploy import cluster, commands, containers, postgres
from resolute.deploy.args import ClusterUp
from resolute.deploy.cluster import Cluster
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import Refused
from tests.ports import free_port


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of Docker, by the cluster's id; containers would reach this machine at 127.0.0.2."""
    there: list[str] = []

    def network(cluster_id: str) -> str:
        there.append(cluster_id)
        return "127.0.0.2"

    monkeypatch.setattr(containers, "network", network)
    monkeypatch.setattr(containers, "remove_network", there.remove)
    return there


@pytest.fixture
def up(tmp_path: Path) -> Callable[..., int]:
    def up(**wanted: Any) -> int:
        return commands.cluster_up(ClusterUp("test", **{"master_port": free_port(), "data_dir": tmp_path, **wanted}))

    return up


def test_a_cluster_for_others_without_a_password_gets_no_network(
    up: Callable[..., int], networks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESOLUTE_API_HOST", "0.0.0.0")
    with pytest.raises(Refused, match="give --initial-user-password"):
        up(runtime="docker")
    assert networks == []


def test_a_storage_directory_that_cannot_be_leaves_no_network(
    up: Callable[..., int], networks: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot make the storage directory"):
        up(runtime="docker", storage_host_path=tmp_path / "file" / "storage")
    assert networks == []


def test_a_port_that_is_in_use_where_containers_would_look_for_it_leaves_no_network(
    up: Callable[..., int], networks: list[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.2", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=rf"cannot listen on 127.0.0.2:{port}"):
            up(runtime="docker", master_port=port)
    assert networks == []


def test_nothing_is_deleted_for_a_cluster_that_is_then_refused(
    up: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, data = ClusterPaths(tmp_path), tmp_path / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text(f"{postgres.MAJOR}\n")
    cluster.save(paths, Cluster("test"))
    monkeypatch.setenv("RESOLUTE_API_HOST", "0.0.0.0")
    with pytest.raises(Refused, match="give --initial-user-password"):
        up(delete_db=True)
    assert (data / "PG_VERSION").exists()
    assert cluster.load(paths) is not None


def test_a_first_start_that_is_refused_leaves_the_directory_as_it_was(
    up: Callable[..., int], networks: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("somebody's")
    with pytest.raises(Refused, match="cannot make the storage directory"):
        up(runtime="docker", storage_host_path=tmp_path / "file" / "storage")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_gpus_that_are_asked_for_and_not_there_are_refused(
    up: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for look in ("nvidia", "rocm"):
        monkeypatch.setattr(gpus, look, tuple)
    with pytest.raises(Refused, match="cannot offer GPUs"):
        up(gpu=True)

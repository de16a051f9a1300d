"""Instances as processes of this host: one of a name, seen at once, and ended with all that they started."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from resolute.config.pools import Provider, ResourcePool
from resolute.proto.errors import Unavailable
from resolute.scheduler.provisioner.local import LocalProvider
from resolute.scheduler.provisioner.provider import LaunchFailed
from resolute.scheduler.provisioner.settings import LocalSettings
from resolute.scheduling.elastic.fleet import Instance, State
from tests.servers import wait_for

POOL = ResourcePool(provider=Provider(artificial_slots=True))
NOWHERE = "nats://127.0.0.1:1"
"""The agents wait for a bus that never comes: what matters here is that they are there."""


def instance(number: int = 1) -> Instance:
    name = f"default-{number}"
    return Instance(number, name, f"default-elastic-{number}", 1, datetime.now(UTC), State.REQUESTED)


def provider_in(folder: Path, **settings: Any) -> LocalProvider:
    return LocalProvider(POOL, LocalSettings(work_dir=folder, nats_url=NOWHERE, **settings))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalProvider]:
    provider = provider_in(tmp_path)
    yield provider
    for name in provider.running():
        provider.terminate(name)


def test_what_is_launched_is_seen_at_once_and_gone_when_it_was_terminated(local: LocalProvider, tmp_path: Path) -> None:
    local.launch(instance())
    (pid,) = local.running().values()
    assert environment_of(pid)["RESOLUTE_AGENT_ID"] == "default-elastic-1"
    local.terminate("default-1")
    assert local.running() == {}
    assert not (tmp_path / "default" / "default-1").exists()
    local.terminate("default-1")


def test_however_many_launch_a_name_there_is_one(local: LocalProvider, tmp_path: Path) -> None:
    others = [local, *(provider_in(tmp_path) for _ in range(3))]
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda provider: provider.launch(instance()), others))
    (pid,) = local.running().values()
    work_dir = environment_of(pid)["RESOLUTE_AGENT_WORK_DIR"]
    assert [p.pid for p in psutil.process_iter() if _works_in(p, work_dir)] == [int(pid)]


def test_one_that_was_killed_is_not_running_any_more(local: LocalProvider) -> None:
    local.launch(instance())
    (pid,) = local.running().values()
    os.kill(int(pid), signal.SIGKILL)
    wait_for(lambda: local.running() == {}, what="nothing runs")


def test_it_is_not_told_the_secrets_of_the_cluster(local: LocalProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_CLUSTER_SECRET", "hush")
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgres://hush")
    local.launch(instance())
    (pid,) = local.running().values()
    assert "hush" not in str(environment_of(pid).values())


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailed, match=r"No such file.*/no/python"):
        provider_in(tmp_path, python="/no/python").launch(instance())
    assert provider_in(tmp_path).running() == {}


def test_an_instance_whose_lock_is_held_counts_as_running(local: LocalProvider, tmp_path: Path) -> None:
    folder = tmp_path / "default" / "default-1"
    folder.mkdir(parents=True)
    with (folder / "instance.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match="only just been started"):
            local.terminate("default-1")
        assert local.running() == {"default-1": "default-1"}
    local.terminate("default-1")
    assert not folder.exists()


def environment_of(pid: str) -> dict[str, str]:
    """Waited for: for a moment after its start a process has none (execve(2))."""
    process = psutil.Process(int(pid))
    wait_for(process.environ, what="the environment of the instance")
    return process.environ()


def _works_in(process: psutil.Process, folder: str) -> bool:
    try:
        return process.environ().get("RESOLUTE_AGENT_WORK_DIR") == folder
    except (psutil.Error, OSError):
        return False

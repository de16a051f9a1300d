"""One command at a time changes a cluster."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from resolute.deploy import command_lock
from resolute.deploy.command_lock import lock_cluster
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import NotFound, Refused
from tests.servers import wait_for

HOLD = """
import sys
from pathlib import Path
from resolute.deploy.paths import ClusterPaths
from resolute.deploy.command_lock import lock_cluster

with lock_cluster(ClusterPaths(Path(sys.argv[1])), "agent-up"):
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> ClusterPaths:
    """Of a cluster that was up before."""
    paths = ClusterPaths(tmp_path / "data")
    paths.root.mkdir()
    paths.description.write_text("{}")
    return paths


class Waiting:
    """A thread that wants a turn, and what came of it."""

    def __init__(self, paths: ClusterPaths, *, may_be_first: bool = False) -> None:
        self._wanted = (paths, may_be_first)
        self.outcome: str | Exception | None = None
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        paths, may_be_first = self._wanted
        try:
            with lock_cluster(paths, "second", may_be_first=may_be_first):
                paths.description.touch()
                self.outcome = paths.command_lock.read_text()
        except (NotFound, Refused) as error:
            self.outcome = error

    def ended(self) -> str | Exception | None:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.outcome


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Everything that was said to people so far."""
    heard: list[str] = []

    def look() -> str:
        heard.append(capsys.readouterr().err)
        return "".join(heard)

    return look


def test_the_second_waits_for_the_first_and_says_so(
    paths: ClusterPaths, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_lock, "PATIENCE_S", 0.05)
    command = [sys.executable, "-c", HOLD, str(paths.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "mine\n"
        second = Waiting(paths)
        wanted = f"waiting for agent-up (pid {first.pid}) to be done with {paths.root}"
        wait_for(lambda: wanted in said(), what="a word about whom it waits for")
        assert second.outcome is None
        first.communicate("")
    assert str(second.ended()).startswith("second (pid ")


def test_who_does_not_wait_long_says_nothing(
    paths: ClusterPaths, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_lock, "PATIENCE_S", 60.0)
    with lock_cluster(paths, "first"):
        second = Waiting(paths)
    assert str(second.ended()).startswith("second (pid ")
    assert said() == ""


def test_the_turn_of_a_command_that_was_killed_is_over(paths: ClusterPaths) -> None:
    command = [sys.executable, "-c", HOLD, str(paths.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "mine\n"
        second = Waiting(paths)
        first.kill()
        assert str(second.ended()).startswith("second (pid ")


@pytest.mark.parametrize("may_be_first", [False, True])
def test_a_cluster_that_is_deleted_meanwhile_is_not_there_or_begun_anew(
    paths: ClusterPaths, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch, may_be_first: bool
) -> None:
    monkeypatch.setattr(command_lock, "PATIENCE_S", 0.05)
    with lock_cluster(paths, "cluster-down"):
        second = Waiting(paths, may_be_first=may_be_first)
        wait_for(lambda: "waiting for cluster-down" in said(), what="one who waits")
        for file in (paths.command_lock, paths.description):
            file.unlink()
        paths.root.rmdir()
    if may_be_first:
        assert str(second.ended()).startswith("second (pid ")
        assert paths.description.exists()
    else:
        assert isinstance(second.ended(), NotFound)
        assert not paths.root.exists()


def test_what_holds_no_cluster_is_left_as_it_was(tmp_path: Path) -> None:
    nothing, others = ClusterPaths(tmp_path / "nothing"), ClusterPaths(tmp_path)
    with pytest.raises(NotFound, match="no cluster in"), lock_cluster(nothing, "cluster-down"):
        pass
    with lock_cluster(nothing, "cluster-up", may_be_first=True):
        assert nothing.command_lock.exists()
    with lock_cluster(others, "cluster-down"):
        assert others.command_lock.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_was_begun_stays(tmp_path: Path) -> None:
    paths = ClusterPaths(tmp_path / "data")
    with lock_cluster(paths, "cluster-up", may_be_first=True):
        paths.description.touch()
    assert paths.description.exists()
    assert paths.command_lock.stat().st_mode & 0o777 == 0o600


def test_a_place_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    beneath = ClusterPaths(tmp_path / "file" / "data")
    refused = r"cannot write to .*file/data: Not a directory; .*--data-dir"
    with pytest.raises(Refused, match=refused), lock_cluster(beneath, "cluster-up", may_be_first=True):
        pass
    with pytest.raises(NotFound), lock_cluster(beneath, "cluster-down"):
        pass

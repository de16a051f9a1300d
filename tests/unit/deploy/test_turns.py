"""One command at a time changes a cluster."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from resolute.deploy import turns
from resolute.deploy.places import Places
from resolute.deploy.turns import turn
from resolute.proto.errors import NotFound, Refused
from tests.servers import wait_for

HOLD = """
import sys
from pathlib import Path
from resolute.deploy.places import Places
from resolute.deploy.turns import turn

with turn(Places(Path(sys.argv[1])), "agent-up"):
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Of a cluster that was up before."""
    places = Places(tmp_path / "data")
    places.root.mkdir()
    places.description.write_text("{}")
    return places


class Waiting:
    """A thread that wants a turn, and what came of it."""

    def __init__(self, places: Places, *, may_be_first: bool = False) -> None:
        self._wanted = (places, may_be_first)
        self.outcome: str | Exception | None = None
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        places, may_be_first = self._wanted
        try:
            with turn(places, "second", may_be_first=may_be_first):
                places.description.touch()
                self.outcome = places.turn.read_text()
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
    places: Places, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 0.05)
    command = [sys.executable, "-c", HOLD, str(places.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "mine\n"
        second = Waiting(places)
        wanted = f"waiting for agent-up (pid {first.pid}) to be done with {places.root}"
        wait_for(lambda: wanted in said(), what="a word about whom it waits for")
        assert second.outcome is None
        first.communicate("")
    assert str(second.ended()).startswith("second (pid ")


def test_who_does_not_wait_long_says_nothing(
    places: Places, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 60.0)
    with turn(places, "first"):
        second = Waiting(places)
    assert str(second.ended()).startswith("second (pid ")
    assert said() == ""


def test_the_turn_of_a_command_that_was_killed_is_over(places: Places) -> None:
    command = [sys.executable, "-c", HOLD, str(places.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "mine\n"
        second = Waiting(places)
        first.kill()
        assert str(second.ended()).startswith("second (pid ")


@pytest.mark.parametrize("may_be_first", [False, True])
def test_a_cluster_that_is_deleted_meanwhile_is_not_there_or_begun_anew(
    places: Places, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch, may_be_first: bool
) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 0.05)
    with turn(places, "cluster-down"):
        second = Waiting(places, may_be_first=may_be_first)
        wait_for(lambda: "waiting for cluster-down" in said(), what="one who waits")
        for file in (places.turn, places.description):
            file.unlink()
        places.root.rmdir()
    if may_be_first:
        assert str(second.ended()).startswith("second (pid ")
        assert places.description.exists()
    else:
        assert isinstance(second.ended(), NotFound)
        assert not places.root.exists()


def test_what_holds_no_cluster_is_left_as_it_was(tmp_path: Path) -> None:
    nothing, others = Places(tmp_path / "nothing"), Places(tmp_path)
    with pytest.raises(NotFound, match="no cluster in"), turn(nothing, "cluster-down"):
        pass
    with turn(nothing, "cluster-up", may_be_first=True):
        assert nothing.turn.exists()
    with turn(others, "cluster-down"):
        assert others.turn.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_was_begun_stays(tmp_path: Path) -> None:
    places = Places(tmp_path / "data")
    with turn(places, "cluster-up", may_be_first=True):
        places.description.touch()
    assert places.description.exists()
    assert places.turn.stat().st_mode & 0o777 == 0o600


def test_a_place_where_nothing_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    beneath = Places(tmp_path / "file" / "data")
    refused = r"cannot write to .*file/data: Not a directory; .*--data-dir"
    with pytest.raises(Refused, match=refused), turn(beneath, "cluster-up", may_be_first=True):
        pass
    with pytest.raises(NotFound), turn(beneath, "cluster-down"):
        pass

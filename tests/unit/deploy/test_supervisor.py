"""The supervisor with small processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from resolute.deploy import plan
from resolute.deploy.plan import Child, backoff_s
from tests.servers import wait_for

FOREVER = (sys.executable, "-c", "import time\nwhile True: time.sleep(60)")
DEAF = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('deaf', flush=True)\nwhile True: time.sleep(60)"
STUBBORN = (sys.executable, "-c", DEAF)


class Supervised:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *children: Child) -> subprocess.Popen[bytes]:
        self.plan(*children)
        argv = [sys.executable, "-m", "resolute.deploy.supervisor", "plan", "status", "lock"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, cwd=self.folder, stdout=log, stderr=log)
        return self.process

    def plan(self, *children: Child) -> None:
        (self.folder / "plan").write_text(plan.dump(children))

    def status(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / "status").read_text())["children"])
        except FileNotFoundError:
            return {}

    def pid(self, name: str) -> int:
        return int(self.status().get(name, {}).get("pid") or 0)

    def log(self) -> str:
        return (self.folder / "log").read_text()


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    supervised = Supervised(tmp_path)
    yield supervised
    if supervised.process is not None and supervised.process.poll() is None:
        supervised.process.terminate()
        supervised.process.wait(60)


def until(look: Callable[[], object], what: str) -> Any:
    return wait_for(look, what=what, within_s=60)


def child(name: str, *argv: str, **kwargs: Any) -> Child:
    return Child(name, argv or FOREVER, env=dict(os.environ), stop_s=1.0, **kwargs)


def test_pauses_grow_and_stop_growing() -> None:
    assert [backoff_s(failures) for failures in (1, 2, 3, 4, 50)] == [0.1, 0.2, 0.4, 0.8, 10.0]


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    children = [Child("a", ("x", "y"), {"K": "v"}, restart=False), Child("b", ("z",), user="me", stale_pid_file="p")]
    (tmp_path / "plan").write_text(plan.dump(children))
    assert plan.load(tmp_path / "plan") == children


def test_a_child_that_is_killed_is_started_again(supervised: Supervised) -> None:
    supervised.start(child("one"), child("two"))
    first = until(lambda: supervised.pid("one"), "the first start")
    other = supervised.pid("two")
    os.kill(first, signal.SIGKILL)
    until(lambda: supervised.pid("one") not in (0, first), "the second start")
    assert supervised.status()["one"]["starts"] == 2
    assert supervised.status()["one"]["exit_code"] == -9
    assert supervised.pid("two") == other


def test_a_child_that_keeps_failing_is_started_less_and_less_often(supervised: Supervised) -> None:
    supervised.start(child("fails", sys.executable, "-c", "raise SystemExit(3)"))
    until(lambda: supervised.status().get("fails", {}).get("failures", 0) >= 3, "three failures")
    assert supervised.status()["fails"]["exit_code"] == 3
    assert "fails ended with exit code 3, after 3 starts" in supervised.log()


def test_a_child_without_restart_stays_down(supervised: Supervised) -> None:
    supervised.start(child("once", restart=False), child("other"))
    pid = until(lambda: supervised.pid("once"), "the start")
    os.kill(pid, signal.SIGKILL)
    until(lambda: supervised.status()["once"]["exit_code"] == -9, "its end")
    second = supervised.pid("other")
    os.kill(second, signal.SIGKILL)
    until(lambda: supervised.pid("other") not in (0, second), "the other's restart")
    assert supervised.pid("once") == 0


def test_everything_stops_when_the_supervisor_is_told_to_even_the_stubborn(supervised: Supervised) -> None:
    process = supervised.start(child("mild"), child("stubborn", *STUBBORN, log=str(supervised.folder / "stubborn")))
    pids = [until(lambda name=name: supervised.pid(name), f"the start of {name}") for name in ("mild", "stubborn")]
    until(lambda: "deaf" in (supervised.folder / "stubborn").read_text(), "a process that does not listen")
    process.terminate()
    assert process.wait(60) == 0
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert "stubborn did not stop within 1 s and is killed" in supervised.log()
    assert supervised.status() == {}


def test_a_changed_plan_starts_what_is_new_and_stops_what_is_gone(supervised: Supervised) -> None:
    process = supervised.start(child("stays"), child("goes"))
    gone = until(lambda: supervised.pid("goes"), "the first plan")
    stayed = supervised.pid("stays")
    supervised.plan(child("stays"), child("comes"))
    process.send_signal(signal.SIGHUP)
    until(lambda: supervised.pid("comes"), "the new child")
    assert not psutil.pid_exists(gone)
    assert supervised.pid("stays") == stayed


def test_a_second_supervisor_of_the_same_cluster_is_refused(supervised: Supervised) -> None:
    supervised.start(child("one"))
    until(lambda: supervised.pid("one"), "the first")
    argv = [sys.executable, "-m", "resolute.deploy.supervisor", "plan", "status", "lock"]
    second = subprocess.run(argv, cwd=supervised.folder, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "another supervisor holds lock" in second.stdout


def test_a_pid_file_left_by_a_dead_process_is_removed_and_a_living_one_s_is_not(supervised: Supervised) -> None:
    stale, own = supervised.folder / "stale.pid", supervised.folder / "own.pid"
    stale.write_text(f"{os.getpid()}\n")  # alive, but not the program the file belongs to
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        own.write_text(f"{sleeping.pid}\n")
        supervised.start(
            child("stale", "/bin/cat", stale_pid_file=str(stale)),
            child("own", "sleep", "61", stale_pid_file=str(own)),
        )
        until(lambda: supervised.status().get("own"), "both starts")
        assert not stale.exists()
        assert own.exists()
        sleeping.kill()

"""The hook that runs before a task's program."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from determined.exec import prep


@pytest.fixture(autouse=True)
def _environment_as_before() -> Iterator[None]:
    before = dict(os.environb)
    yield
    os.environb.clear()
    os.environb.update(before)


@pytest.fixture
def run_hook(tmp_path: Path) -> Callable[[str], None]:
    def run(text: str) -> None:
        (tmp_path / prep.HOOK).write_text(text)
        prep._run_hooks({}, tmp_path)

    return run


def test_what_a_hook_exports_is_there_and_what_it_unsets_is_gone(
    run_hook: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWANTED", "1")
    run_hook("export FROM_HOOK=$'two\\nlines'; unset UNWANTED; not_exported=1")
    assert os.environ["FROM_HOOK"] == "two\nlines"
    assert not {"UNWANTED", "not_exported"} & set(os.environ)


def test_a_hook_may_leave_something_running(run_hook: Callable[[str], None], tmp_path: Path) -> None:
    began_at = time.monotonic()
    run_hook(f"sleep 30 & echo $! > {tmp_path}/pid; export FROM_HOOK=yes")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert time.monotonic() - began_at < 25
    assert os.environ["FROM_HOOK"] == "yes"


def test_a_hook_that_exits_by_itself_takes_nothing_away(run_hook: Callable[[str], None]) -> None:
    before = dict(os.environ)
    run_hook("exit 0")
    assert os.environ == before
    with pytest.raises(prep.CannotStart, match="exit code 3"):
        run_hook("exit 3")


def test_the_hook_of_the_configuration_runs_before_the_one_of_the_context_directory(
    run_hook: Callable[[str], None], tmp_path: Path
) -> None:
    (tmp_path / prep.HOOK).write_text("export ORDER=$ORDER-own")
    assert prep._run_hooks({"environment": {"startup_hook": "export ORDER=configured"}}, tmp_path)
    assert os.environ["ORDER"] == "configured-own"
    with pytest.raises(prep.CannotStart, match=r"environment\.startup_hook ended with exit code 4"):
        prep._run_hooks({"environment": {"startup_hook": "exit 4"}}, tmp_path)


def test_a_task_without_hooks_runs_none(tmp_path: Path) -> None:
    assert not prep._run_hooks({"environment": {"startup_hook": None}}, tmp_path)


@pytest.mark.parametrize("name", ["determined", "determined.py"])
def test_a_working_directory_that_hides_the_harness_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(prep.CannotStart, match=f"{name} in the working directory hides") as refusal:
        prep._refuse_to_be_hidden(tmp_path)
    assert refusal.value.hopeless

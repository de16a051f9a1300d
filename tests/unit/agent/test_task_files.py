"""What an agent reads in a folder that a task may write to."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from resolute.agent import spool, task_files
from resolute.agent.process_runtime import ProcessRuntime
from resolute.service.locks import is_held

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
SECRET = b"1.000000 o hush\n"


def a_link(place: Path, elsewhere: Path) -> None:
    place.symlink_to(elsewhere)


def a_second_name(place: Path, elsewhere: Path) -> None:
    place.hardlink_to(elsewhere)


def a_pipe(place: Path, elsewhere: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("put", [a_link, a_second_name, a_pipe])
def test_only_ordinary_files_are_read_and_none_is_waited_for(put: Callable[[Path, Path], None], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(SECRET)
    put(tmp_path / "log", elsewhere)
    assert spool.read(tmp_path / "log", 0, 10).lines == ()
    with pytest.raises(FileNotFoundError, match="no ordinary file"):
        task_files.open_to_write(tmp_path / "log")
    assert elsewhere.read_bytes() == SECRET


def test_a_link_in_the_place_of_a_lock_is_no_lock(tmp_path: Path) -> None:
    with (tmp_path / "elsewhere").open("w") as elsewhere:
        fcntl.flock(elsewhere, fcntl.LOCK_EX)
        (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
        assert not is_held(tmp_path / "lock")


@as_root
def test_a_task_cannot_have_the_agent_signal_a_process_of_another_user(tmp_path: Path) -> None:
    runtime = ProcessRuntime(tmp_path)
    folder = tmp_path / "r-1"
    folder.mkdir()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        (folder / "pid").write_text(f"{bystander.pid} {bystander.pid}")
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.chown(folder, 12345, 12345)
            asyncio.run(runtime.signal("r-1", signal.SIGKILL))
            assert bystander.poll() is None
            os.chown(folder, 0, 0)
            asyncio.run(runtime.signal("r-1", signal.SIGKILL))  # of the same user it is the task's own
            assert bystander.wait(10) == -signal.SIGABRT
    finally:
        bystander.kill()

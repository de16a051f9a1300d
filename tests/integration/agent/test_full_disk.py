"""A host whose disk is full: its tasks wait before any of their lines are lost, and their logs say how many were."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resolute.agent import shim, spool
from resolute.agent.process_runtime import ProcessRuntime

SIZE_KIB = 512

PRINTS = "for n in range({lines}): print('%05d' % n + 'x' * 95)\nprint('done', flush=True)"
"""100 bytes a line, and 26 more in the record of each: 10,000 lines are far more than the disk and the pipe hold."""

START = """
import sys
sys.path.insert(0, {folder!r})
import shim
shim.HOLD_S, shim.END_HOLD_S = {hold_s}, {hold_s}
shim.main(sys.argv[1:])
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of this test's own."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "tmpfs", mounted], capture_output=True)
    if made.returncode != 0:
        pytest.skip(f"needs to mount a tmpfs, which this host does not allow: {made.stderr.decode().strip()}")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)


class Task:
    """A shim, and the task beside it that prints, on the small disk."""

    def __init__(self, disk: Path, *, hold_s: float, lines: int) -> None:
        self.runtime = ProcessRuntime(disk, grace_s=1.0)
        self.folder, self.lines = disk / "r", lines
        self.folder.mkdir()
        self.ballast = disk / "ballast"
        program = START.format(folder=str(Path(shim.__file__).parent), hold_s=hold_s)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-c", PRINTS.format(lines=lines)]
        self.fill()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", program, str(self.folder), str(lock), "1.0", *command], pass_fds=[lock]
        )
        os.close(lock)

    def fill(self) -> None:
        """Leave room for some 500 lines."""
        with self.ballast.open("wb") as file:
            file.write(b"b" * (SIZE_KIB * 1024 - 96 * 1024))

    def free(self) -> None:
        """Room again, for all there will be: a larger disk."""
        subprocess.run(["mount", "-o", "remount,size=16m", self.ballast.parent], check=True)

    def all_printed(self) -> list[str]:
        texts: list[str] = []
        mark = 0
        while (chunk := spool.read(self.folder / "log", mark, 1_000_000)).lines:
            texts, mark = [*texts, *(line.text for line in chunk.lines)], chunk.mark
        return texts

    def until(self, holds: Callable[[], object], within_s: float = 60) -> None:
        deadline = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @property
    def is_full(self) -> bool:
        room = os.statvfs(self.folder)
        return room.f_bavail == 0

    def ended(self) -> None:
        assert self.process.wait(60) == 0


def whole(texts: list[str]) -> set[int]:
    """The lines that are there from their first character to their last."""
    return {int(text[:5]) for text in texts if re.fullmatch(r"\d{5}x{95}", text)}


def lost_in(texts: list[str]) -> int:
    """How many lines the log says were lost."""
    found = [
        re.fullmatch(r"WARNING: (\d+) lines that were printed from [\d:]{8} to [\d:]{8} UTC are lost: .*", t)
        for t in texts
    ]
    return sum(int(one[1]) for one in found if one)


def test_a_task_waits_while_the_disk_is_full_and_loses_nothing(disk: Path) -> None:
    task = Task(disk, hold_s=60.0, lines=10_000)
    task.until(lambda: task.is_full)
    assert task.process.poll() is None, "what does not fit waits, and so does the task"
    task.free()
    task.ended()
    texts = task.all_printed()
    assert whole(texts) == set(range(10_000))
    assert (texts[-1], lost_in(texts)) == ("done", 0)


def test_when_the_patience_is_over_the_log_says_how_many_lines_were_lost(disk: Path) -> None:
    task = Task(disk, hold_s=0.3, lines=10_000)
    # Whether the task has ended or not, the lines beyond the disk are dropped: it is not held up for ever.
    task.ended()
    assert task.is_full
    texts = task.all_printed()
    found = asyncio.run(task.runtime.exit("r"))
    assert found.code == 0
    kept = whole(texts)
    assert 0 < len(kept) < 5_000
    said = lost_in(texts) + lost_in([found.lost])
    assert len(kept) + said == 10_001, "each line was kept or counted, the last one too"


def test_what_is_printed_after_the_disk_has_room_again_stands_behind_the_count(disk: Path) -> None:
    task = Task(disk, hold_s=0.0, lines=200_000)
    task.until(lambda: task.is_full)
    task.free()
    task.until(lambda: lost_in(task.all_printed()) > 0)
    task.process.terminate()
    task.process.wait(60)
    texts = task.all_printed()
    [place] = [n for n, text in enumerate(texts) if lost_in([text])]
    before, after = whole(texts[:place]), whole(texts[place:])
    assert max(before) < min(after)
    assert lost_in(texts) == min(after) - max(before) - 1

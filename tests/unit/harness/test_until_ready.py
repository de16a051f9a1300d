"""The watcher beside a program: output passes unchanged, readiness is said once, the exit status is the program's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

WATCH = """
import sys
from determined.exec import until_ready
def ready():
    open(sys.argv[1], "a").write("ready\\n")
sys.exit(until_ready.run(sys.argv[3:], sys.argv[2], ready))
"""


def watched(marks: Path, pattern: str, script: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-c", WATCH, str(marks), pattern, "bash", "-c", script]
    return subprocess.run(words, capture_output=True, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def test_what_the_program_prints_passes_unchanged_and_its_exit_status_is_kept(marks: Path) -> None:
    found = watched(marks, "never", r"printf 'a\r\nb\377'; printf 'err' >&2; exit 7")
    assert (found.stdout, found.stderr, found.returncode) == (b"a\r\nb\xff", b"err", 7)
    assert not marks.exists()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_line_that_matches_from_its_beginning_says_it_once(marks: Path, stream: str) -> None:
    script = f"for i in 1 2; do echo 'Server listening on 0.0.0.0' >&{stream}; done; sleep 0.3"
    assert watched(marks, "Server listening on", script).returncode == 0
    assert marks.read_text() == "ready\n"


def test_a_line_that_has_it_in_the_middle_says_nothing(marks: Path) -> None:
    watched(marks, "Server listening", "echo 'no Server listening'; sleep 0.2")
    assert not marks.exists()


def test_a_line_that_comes_in_pieces_and_a_very_long_one_are_seen(marks: Path) -> None:
    script = "printf 'Jupyter Server '; sleep 0.1; printf 'is running'; head -c 300000 /dev/zero; echo; sleep 0.3"
    assert len(watched(marks, ".*Jupyter Server is running", script).stdout) == 300_026
    assert marks.read_text() == "ready\n"


def test_a_signal_to_the_group_ends_the_program_and_then_the_watcher(marks: Path) -> None:
    words = [sys.executable, "-u", "-c", WATCH, str(marks), "up"]
    script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    process = subprocess.Popen([*words, "bash", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    limit = threading.Timer(60, process.kill)
    limit.start()
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert process.stdout.read() == b"bye\n"
    assert process.wait() == 3
    limit.cancel()


def test_a_program_that_does_not_exist_is_named() -> None:
    words = [sys.executable, "-m", "determined.exec.until_ready", "x", "--", "no-such-program"]
    found = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (127, "ERROR: cannot run 'no-such-program': No such file or directory\n")

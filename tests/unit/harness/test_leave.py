"""How the process of a trial class ends: what is the trial's own is taken apart, and large packages are left alone."""

from __future__ import annotations

import _ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, ".")
from determined.exec._leave import FreshStart

def work():
    import own
    sys.exit(own.main(sys.argv[1:]))

FreshStart().leave_after(work)
"""
OWN = """
import atexit, ctypes, numpy

class Witness:
    def __init__(self, name):
        self.name = name
    def __del__(self, print=print):
        print("taken apart:", self.name, flush=True)

atexit.register(print, "atexit has run")
witness = Witness("the module of the trial")
numpy.witness = Witness("numpy")
unwritten = open("written", "w")

def main(words):
    for library in words:
        ctypes.CDLL(library)
    unwritten.write("in a buffer until the end")
    print("the last line", end="")
    return 3
"""


def ended(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "own.py").write_text(OWN)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_trial_is_taken_apart_and_written_and_its_large_packages_are_left_alone(tmp_path: Path) -> None:
    done = ended(tmp_path)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "the last lineatexit has run\ntaken apart: the module of the trial\n"
    assert (tmp_path / "written").read_text() == "in a buffer until the end"


def test_a_trial_with_a_native_library_of_its_own_ends_as_any_program_does(tmp_path: Path) -> None:
    library = shutil.copy(str(_ctypes.__file__), tmp_path / "own_library.so")
    done = ended(tmp_path, str(library))
    assert (done.returncode, done.stderr) == (3, "")
    assert "taken apart: numpy" in done.stdout
    assert (tmp_path / "written").read_text() == "in a buffer until the end"


def test_a_trial_that_a_profiler_was_put_into_ends_as_any_program_does(tmp_path: Path) -> None:
    done = ended(tmp_path, LD_PRELOAD="libm.so.6")
    assert (done.returncode, done.stderr) == (3, "")
    assert "taken apart: numpy" in done.stdout

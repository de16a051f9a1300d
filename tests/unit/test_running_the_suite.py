"""What the suite itself relies on: ports that belong to one test, tests that are kept apart, and a table of costs."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import arrows, costs, ports
from tests.costs import Cost

ROOT = Path(__file__).parents[2]


def test_processes_that_ask_at_the_same_time_get_different_ports(tmp_path: Path) -> None:
    ask = "import pathlib, sys; from tests.ports import free_port; print(free_port(pathlib.Path(sys.argv[1])))"

    def asked(_: int) -> str:
        command = [sys.executable, "-c", ask, str(tmp_path / "counter")]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(6) as threads:
        given = list(threads.map(asked, range(6)))
    assert len(set(given)) == 6


def test_a_port_that_something_listens_on_is_not_given(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    first = ports.free_port(counter)
    with socket.create_server(("127.0.0.1", first + ports.STEP)):
        assert ports.free_port(counter) == first + 2 * ports.STEP


def test_after_the_last_port_the_first_one_comes_again(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text(str(ports.BEYOND - ports.STEP))
    assert ports.LOWEST <= ports.free_port(counter) < ports.BEYOND - ports.STEP


def test_the_table_of_costs_begins_with_the_slowest_and_adds_up_files() -> None:
    spent = {
        "a.py::one": Cost(2, 1),
        "a.py::two[1]": Cost(3, 1),
        "b.py::three": Cost(4, 4),
        "b.py::quick": Cost(0.1, 0),
    }
    first, *lines = costs.report(spent)
    assert first == "4 tests in 2 files took 9 s, with 6 s of work"
    assert [line.split()[-1] for line in lines] == [
        *("files", "a.py", "b.py"),
        *("tests", "b.py::three", "a.py::two[1]", "a.py::one"),
    ]
    assert lines[1].split() == ["5.0", "s", "2.0", "s", "a.py"]


STORY = """
import pathlib, time
import pytest
NOTES = pathlib.Path(__file__).with_name("notes")
def note(what):
    with NOTES.open("a") as file:
        file.write(what + "\\n")
@pytest.mark.parametrize("number", range(COUNT))
def test_beside_others(number):
    note(f"begin {number}")
    time.sleep(0.05)
    note(f"end {number}")
@pytest.mark.alone
def test_measures():
    note("begin alone")
    time.sleep(0.1)
    note("end alone")
"""


def test_while_a_test_that_is_marked_alone_runs_the_other_worker_runs_none(tmp_path: Path) -> None:
    # The many go on after the few have ended.
    printed = run_by_two_workers(tmp_path, {"few": STORY.replace("COUNT", "2"), "many": STORY.replace("COUNT", "20")})
    assert "24 passed" in printed
    notes = (tmp_path / "notes").read_text().splitlines()
    begun = [number for number, note in enumerate(notes) if note == "begin alone"]
    assert [notes[number + 1] for number in begun] == ["end alone"] * 2


def test_the_arrows_that_each_worker_walked_add_up(tmp_path: Path) -> None:
    story = "from tests import arrows\ndef test_walks():\n    arrows.WALKED.add(sorted(arrows.all_arrows())[COUNT])\n"
    stories = {"one": story.replace("COUNT", "0"), "two": story.replace("COUNT", "1")}
    printed = run_by_two_workers(tmp_path, stories, "--arrows")
    assert "2 passed" in printed
    assert f"2 of {len(arrows.all_arrows())} arrows were walked" in printed


def run_by_two_workers(folder: Path, stories: dict[str, str], *flags: str) -> str:
    """What pytest prints; each story is a file of its own."""
    for name, story in stories.items():
        (folder / f"test_{name}.py").write_text(story)
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests.conftest import *\n"
    )
    words = ["-q", "-p", "no:cacheprovider", "--numprocesses", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", *words, *flags, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout

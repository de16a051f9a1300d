"""What the suite itself relies on: ports that belong to one test, tests that are kept apart, and a table of costs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import arrows, costs, needs, ports, side_by_side
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


def test_the_tables_of_costs_begin_with_the_slowest_and_add_up_files_and_folders() -> None:
    spent = {
        "t/unit/a.py::one": Cost(2, 1),
        "t/unit/a.py::two[1]": Cost(3, 1),
        "t/b.py::three": Cost(4, 4),
        "t/b.py::quick": Cost(0.1, 0),
    }
    first, *lines = costs.report(spent)
    assert first == "4 tests in 2 files took 9 s, with 6 s of work"
    assert [line.split()[-1] for line in lines] == [
        *("folders", "t/unit", "t"),
        *("files", "t/unit/a.py", "t/b.py"),
        *("tests", "t/b.py::three", "t/unit/a.py::two[1]", "t/unit/a.py::one"),
    ]
    assert lines[1].split() == ["5.0", "s", "2.0", "s", "t/unit"]


@dataclass(frozen=True)
class Collected:
    """As much of a collected test as its group depends on."""

    nodeid: str
    marks: tuple[pytest.Mark, ...] = ()

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return (mark for mark in self.marks if mark.name == name)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(self.iter_markers(name), None)


def test_what_needs_docker_is_one_group_that_begins_first_and_what_measures_time_is_one_that_comes_last() -> None:
    items = [
        Collected("a.py::times", (pytest.mark.alone.mark, needs.docker.mark)),
        Collected("a.py::plain"),
        Collected("b.py::gang", (pytest.mark.together("gangs").mark,)),
        Collected("b.py::plain[docker]"),
        Collected("c.py::contained", (needs.horovod.mark, needs.docker.mark)),
        Collected("d.py::gang", (pytest.mark.together("gangs").mark,)),
        Collected("e.py::composed", (needs.compose.mark,)),
    ]
    groups = side_by_side.arrange(items)  # type: ignore[arg-type]
    assert [(item.nodeid, groups[item.nodeid]) for item in items] == [
        ("c.py::contained", "docker"),
        ("e.py::composed", "docker"),
        ("a.py::plain", "a.py"),
        ("b.py::gang", "gangs"),
        ("b.py::plain[docker]", "b.py"),
        ("d.py::gang", "gangs"),
        ("a.py::times", "alone"),
    ]


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


WORKER_OF_EACH = """
import os, pathlib
import pytest
from tests import needs
pytestmark = MARK
NOTES = pathlib.Path(__file__).with_name("notes")
@pytest.mark.parametrize("number", range(5))
def test_notes_its_worker(number):
    with NOTES.open("a") as file:
        file.write(f"GROUP {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


WALKS = """
from tests import arrows
def test_walks():
    arrows.WALKED.add(sorted(arrows.all_arrows())[COUNT])
"""
IN_DOCKER, IN_A_GANG = "[pytest.mark.timeout(9), needs.docker]", "pytest.mark.together('gangs')"


def worker_of_each(group: str, mark: str) -> str:
    return WORKER_OF_EACH.replace("GROUP", group).replace("MARK", mark)


STORIES = {
    "a_few": STORY.replace("COUNT", "2"),
    "b_many": STORY.replace("COUNT", "20"),  # they go on after the few have ended
    "c_docker": worker_of_each("docker", IN_DOCKER),
    "d_gang": worker_of_each("gangs", IN_A_GANG),
    "e_docker": worker_of_each("docker", IN_DOCKER),
    "f_gang": worker_of_each("gangs", IN_A_GANG),
    "g_walks": WALKS.replace("COUNT", "0"),
    "h_walks": WALKS.replace("COUNT", "1"),
}
"""Files of tests, which one run of two workers runs."""


@dataclass(frozen=True)
class Ran:
    printed: str
    notes: list[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What two workers printed and noted that ran all stories."""
    folder = tmp_path_factory.mktemp("stories")
    for name, story in STORIES.items():
        (folder / f"test_{name}.py").write_text(story)
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests.conftest import *\n"
    )
    words = ["-q", "-p", "no:cacheprovider", "--numprocesses", "2", "--dist", "loadscope", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", *words, "--arrows", str(folder)]
    environment = {**os.environ, "RESOLUTE_REQUIRE": "docker"}  # a promise: the stories are not skipped without it
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return Ran(done.stdout, (folder / "notes").read_text().splitlines())


def test_two_workers_run_every_test_once(ran: Ran) -> None:
    assert "46 passed" in ran.printed


def test_while_a_test_that_is_marked_alone_runs_the_other_worker_runs_none(ran: Ran) -> None:
    begun = [number for number, note in enumerate(ran.notes) if note == "begin alone"]
    assert [ran.notes[number + 1] for number in begun] == ["end alone"] * 2


@pytest.mark.parametrize("group", ["docker", "gangs"])
def test_the_tests_of_one_group_run_in_one_worker_though_they_lie_in_several_files(ran: Ran, group: str) -> None:
    workers = [note.split()[1] for note in ran.notes if note.startswith(f"{group} ")]
    assert len(workers) == 10
    assert len(set(workers)) == 1


def test_the_arrows_that_each_worker_walked_add_up(ran: Ran) -> None:
    assert f"2 of {len(arrows.all_arrows())} arrows were walked" in ran.printed

"""Which tests may run at the same time, where several workers share the suite: `make test WORKERS=2`.

- The tests of one file run one after the other in one worker, in the file's order, so that they share its fixtures.
- Files that share a fixture, or anything of this machine, are marked `together("a name")` and go to the same worker.
- Everything that needs Docker is one group: there is one Docker engine, with one set of images.
- Tests marked `alone` measure time that passes (wall-clock time). While one of them runs, no other worker runs a test.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Generator
from functools import cached_property
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests import needs

DOCKER = "docker"
"""The group of all tests that need Docker."""
LONGEST_FIRST = (
    DOCKER,
    "tests/attack",
    "tests/simulation",
    "tests/integration",
    "tests/contract",
    "tests/property",
)
"""Groups whose names begin so are begun in this order, then all others: long ones that come last would run while the
other workers have nothing left to do."""
MARKS = (
    "alone: it measures time that passes; no other worker runs a test meanwhile",
    "together(name): all tests of this name run in one worker, one after the other",
)
ALONE = "alone"
"""The name of the mark, and of the group, which comes last: then there is one moment of waiting for the others."""


def arrange(items: list[pytest.Item]) -> dict[str, str]:
    """Put the tests into the order in which their groups are to begin; the group of each test, by its node id."""
    groups = {item.nodeid: group_of(item) for item in items}
    items.sort(key=lambda item: _turn(groups[item.nodeid]))
    return groups


def group_of(item: pytest.Item) -> str:
    """The tests of one group run in one worker, one after the other."""
    if item.get_closest_marker(ALONE):
        return ALONE
    if any(mark in (needs.docker.mark, needs.compose.mark) for mark in item.iter_markers("skipif")):
        return DOCKER
    named = item.get_closest_marker("together")
    return str(named.args[0]) if named else item.nodeid.partition("::")[0]


def _turn(group: str) -> int:
    if group == ALONE:
        return len(LONGEST_FIRST) + 1
    turns = (turn for turn, start in enumerate(LONGEST_FIRST) if group.startswith(start))
    return next(turns, len(LONGEST_FIRST))


GROUPS_FILE = "groups_file"
"""Under this name a worker finds, in what pytest-xdist gives it, the file in which it writes the group of each test."""


def write_groups(file: Path, groups: dict[str, str]) -> None:
    """Every worker writes the same groups: the last one replaces the file of the others."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
        json.dump(groups, draft)
    Path(draft.name).replace(file)


class Distribution:
    """In the process over the workers: each group of tests is given to one worker, in the order that `arrange` made.

    pytest-xdist has a mark for groups, `xdist_group`, which it writes behind the node ids of tests. It cannot do that
    with pytest 9.2 and says nothing, so here the workers write the groups to a file that the scheduler reads.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="resolute-tests-")
        self._file = Path(self._folder.name) / "groups.json"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput[GROUPS_FILE] = str(self._file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> LoadScopeScheduling:
        return ByGroup(config, log, self._file)


class ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """pytest-xdist's scheduler of scopes, where a scope is a group."""

    def __init__(self, config: pytest.Config, log: Producer, file: Path) -> None:
        super().__init__(config, log)
        self._file = file

    @cached_property
    def _groups(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._file.read_text())
        return found

    def _split_scope(self, nodeid: str) -> str:
        return self._groups[nodeid]


class TakingTurns:
    """In each worker: tests marked `alone` wait until no other worker runs a test, and hold the others up meanwhile."""

    def __init__(self, run: str) -> None:
        """`run` names the whole run, of which this worker does a part."""
        self._lock = (Path(tempfile.gettempdir()) / f"resolute-tests-{run}.lock").open("w")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        fcntl.flock(self._lock, fcntl.LOCK_EX if item.get_closest_marker(ALONE) else fcntl.LOCK_SH)
        try:
            return (yield)
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

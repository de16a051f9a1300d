"""Which tests may run at the same time, where several workers share the suite: `make test WORKERS=2`.

- The tests of one file run one after the other in one worker, in the file's order, so that they share its fixtures.
- Files that share a fixture, or anything of this machine, are marked `together("a name")` and go to the same worker.
- Everything that needs Docker is one group: there is one Docker engine, with one set of images.
- Tests marked `alone` measure time that passes (wall-clock time). While one of them runs, no other worker runs a test.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests import needs

LONGEST_FIRST = (
    "docker",
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


def arrange(items: list[pytest.Item]) -> None:
    """Give every test its group, and put the groups into the order in which they are to begin."""
    groups = {item: _group_of(item) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))  # pytest-xdist's name for tests that go to the same worker
    items.sort(key=lambda item: _turn(groups[item]))


def _group_of(item: pytest.Item) -> str:
    if item.get_closest_marker(ALONE):
        return ALONE
    if any(mark in (needs.docker.mark, needs.compose.mark) for mark in item.iter_markers("skipif")):
        return "docker"
    named = item.get_closest_marker("together")
    return str(named.args[0]) if named else item.nodeid.partition("::")[0]


def _turn(group: str) -> int:
    if group == ALONE:
        return len(LONGEST_FIRST) + 1
    turns = (turn for turn, start in enumerate(LONGEST_FIRST) if group.startswith(start))
    return next(turns, len(LONGEST_FIRST))


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

"""What each test costs, printed at the end of a run, slowest first: time that passed, and time that a processor worked.

A test whose `time` is much larger than its `work` waits for something: a timeout, a server, a process of its own that
it does not wait for. Such tests gain from running side by side; one whose work is as long as its time does not.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass

import psutil
import pytest

SHOWN = 25
"""So many lines each table has."""
LEAST_S = 0.5
"""What takes less is not shown."""
FOLDERS_DEEP = 3
"""Costs of folders are added up to this depth: `tests/integration/api`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`work_s`: of this process and of every process that it started and waited for, user and system time together."""

    time_s: float = 0.0
    work_s: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.time_s + other.time_s, self.work_s + other.work_s)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.time_s - other.time_s, self.work_s - other.work_s)


def now() -> Cost:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Cost(time.monotonic(), sum(one.ru_utime + one.ru_stime for one in used))


def machine_work_s() -> float:
    """How long the processors of this machine have worked, for whichever process, since it was started.

    A cluster's services and what runs in containers have other parents than the tests: they are counted here alone.
    """
    times = psutil.cpu_times()
    return float(times.user + times.system)  # without time that another machine on the same host took (steal)


class Costs:
    """Notes the cost of each test's phases on their reports, and adds up what the reports of all workers say."""

    def __init__(self) -> None:
        self._since = now()
        self._machine_before_s = machine_work_s()
        self._tests: dict[str, Cost] = defaultdict(Cost)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._since = now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        until = now()
        spent, self._since = until - self._since, until
        vars(report)["cost"] = [spent.time_s, spent.work_s]  # a worker sends it with the report
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid] += Cost(*getattr(report, "cost", ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not any(cost.time_s >= LEAST_S for cost in self._tests.values()):
            return
        terminalreporter.section("what the tests cost")
        for line in report(self._tests):
            terminalreporter.line(line)
        worked_s = machine_work_s() - self._machine_before_s
        terminalreporter.line(f"meanwhile the {psutil.cpu_count()} processors of this machine worked {worked_s:.0f} s")


def report(tests: Mapping[str, Cost]) -> Iterator[str]:
    files, folders = defaultdict[str, Cost](Cost), defaultdict[str, Cost](Cost)
    for name, cost in tests.items():
        file = name.partition("::")[0]
        files[file] += cost
        folders["/".join(file.split("/")[:-1][:FOLDERS_DEEP])] += cost
    whole = sum(tests.values(), Cost())
    yield f"{len(tests)} tests in {len(files)} files took {whole.time_s:.0f} s, with {whole.work_s:.0f} s of work"
    yield from table("slowest folders", folders.items())
    yield from table("slowest files", files.items())
    yield from table("slowest tests", tests.items())


def table(title: str, costs: Iterable[tuple[str, Cost]]) -> Iterator[str]:
    slowest = sorted(costs, key=lambda one: one[1].time_s, reverse=True)[:SHOWN]
    yield f"{'time':>8} {'work':>8}  {title}"
    for name, cost in slowest:
        if cost.time_s >= LEAST_S:
            yield f"{cost.time_s:6.1f} s {cost.work_s:6.1f} s  {name}"

"""What every test may ask for: a fresh Postgres database, a fresh NATS, or whole servers to be unkind to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import settings

from tests import arrows, side_by_side
from tests.costs import Costs
from tests.servers import Nats, Postgres

# The suite says the same of the same code, every time. HYPOTHESIS_PROFILE=search looks where nobody looked before.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# An exception that a service logs is printed as Python prints it. structlog's default, where rich is installed, frames
# it with all local variables: half a second of work each.
_renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _renderer])


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "say which arrows of the lives' tables no test walked, and fail when one of them is not explained"
    parser.addoption("--arrows", action="store_true", help=told)
    parser.addoption("--costs", action="store_true", help="print what the tests cost, slowest first")


class NamesFailures:
    """Says at once which test fails; all there is to know about it comes at the end, many minutes later."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nfailed: {report.nodeid} ({report.when})")


def pytest_configure(config: pytest.Config) -> None:
    for mark in side_by_side.MARKS:
        config.addinivalue_line("markers", mark)
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs())
        config.pluginmanager.register(NamesFailures(config))
    if (worker := _worker(config)) is not None:
        config.pluginmanager.register(side_by_side.TakingTurns(worker["testrunuid"]))
    else:
        config.pluginmanager.register(side_by_side.Distribution())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (worker := _worker(config)) is not None:
        side_by_side.write_groups(Path(worker[side_by_side.GROUPS_FILE]), side_by_side.arrange(items))


def _worker(config: pytest.Config) -> dict[str, Any] | None:
    """What pytest-xdist tells each of its workers; None in a run without workers, and in the process over them."""
    told: dict[str, Any] | None = getattr(config, "workerinput", None)
    return told


@pytest.fixture(scope="session", autouse=True)
def _noting_arrows(pytestconfig: pytest.Config) -> Iterator[None]:
    if not pytestconfig.getoption("--arrows"):
        yield
        return
    with arrows.noted() as walked:
        yield
    arrows.WALKED.update(walked)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended: the arrows that its tests walked are walked."""
    arrows.WALKED.update(getattr(node, "workeroutput", {}).get("arrows", ()))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _worker(session.config) is not None:
        session.config.workeroutput["arrows"] = sorted(arrows.WALKED)  # type: ignore[attr-defined]
    elif session.config.getoption("--arrows") and exitstatus == pytest.ExitCode.OK and arrows.complaints():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--arrows"):
        terminalreporter.section("arrows")
        for line in arrows.report():
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """The session's one Postgres. Leave it running: a test that kills wants `own_postgres`."""
    server = Postgres()
    server.trust_the_machine()
    yield server
    server.close()


@pytest.fixture
def empty_database(postgres_server: Postgres) -> Iterator[str]:
    """The DSN of an empty database, this test's own."""
    dsn = postgres_server.fresh_database()
    yield dsn
    postgres_server.forget_database(dsn)


@pytest.fixture
def postgres_dsn(empty_database: str) -> str:
    """The same; the tests of the gateway put a database with tables in its place."""
    return empty_database


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A Postgres of this test's own, to `kill()` and `start()`."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def nats_server() -> Iterator[Nats]:
    """A NATS of this test's own, with JetStream and an empty store, to `kill(wipe=…)` and `start()`."""
    server = Nats()
    yield server
    server.close()


@pytest.fixture
def nats_url(nats_server: Nats) -> str:
    return nats_server.url

"""`resolute replay --check`: does the log alone tell everything that REST shows?

The read model is built a second time, from the log's first event on, beside the one in use. Then every row of every
table is compared with its twin, and GETs of the gateway are answered from both and compared byte for byte. An answer
is made of rows; what it could show differently although all rows are the same (their order, where a query names none)
is the same for all things of a kind. So a sample of each route is asked where there are many; `every_answer` asks
them all. States that no right decision leads to are named as well (`tasks/audit_queries.py`). The cluster may run
meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import asyncpg
import structlog
from pydantic import SecretStr

from resolute.api.asking import Asking, asking, chosen, paths_of
from resolute.api.gateway import Gateway
from resolute.api.kernel.growth import FEW, grow
from resolute.api.kernel.readmodel import Progress
from resolute.api.settings import ApiSettings
from resolute.api.shell import connect
from resolute.api.slices import PROJECTIONS, read_model
from resolute.api.tasks.audit_queries import PostgresAudit
from resolute.api.twins import TablesDiffer, compare_tables
from resolute.bus import MemoryBus
from resolute.eventlog import EventLog
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import NotFound, ResoluteError, Unavailable
from resolute.service import Context

REBUILT = "_replay"
"""What the names of the schemas end in whose tables are grown anew for the comparison."""

ATTEMPTS = 5
"""A running cluster may change between two answers; a difference that the log explains is gone the next time."""

ASKED_MOST = 1_000
"""Answers that are compared; where there are more questions, as many of each route as of any other."""

AT_ONCE = 8
"""Answers that are compared side by side."""

Note = Callable[[str, int, int], None]
"""What is being done, how far it is, and of how much."""


def _silent(what: str, done: int, of: int) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True)
class Difference:
    path: str
    shown: bytes
    rebuilt: bytes


@dataclass(slots=True)
class Report:
    position: int = 0
    rows: int = 0
    """Compared, of all tables."""
    answers: int = 0
    questions: int = 0
    """Answers that there are; those that were compared are among them."""
    tables: list[TablesDiffer] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    """See `tasks/audit_queries.py`."""

    @property
    def same(self) -> bool:
        return not self.tables and not self.differences


def check(database_url: str, note: Note = _silent, *, every_answer: bool = False) -> int:
    """For the command line: the exit code, having said what differs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        report = asyncio.run(_check(database_url, note, every_answer))
    except ResoluteError as error:
        print(f"cannot check: {error.message}", file=sys.stderr)
        return 1
    for table in report.tables:
        print(table)
    for difference in report.differences:
        print(f"{difference.path}\n  shown:   {_short(difference)}\n  rebuilt: {_short(difference, rebuilt=True)}")
    for state in report.impossible:
        print(f"impossible: {state}")
    verdict = "each the same, byte for byte" if report.same else "they differ"
    some = "" if report.answers == report.questions else f" of {report.questions}"
    print(
        f"{report.rows} rows and {report.answers}{some} answers at position {report.position}, "
        f"from the tables in use and from the log: {verdict}"
    )
    return 0 if report.same and not report.impossible else 1


def _short(difference: Difference, *, rebuilt: bool = False) -> str:
    """A few words around the first byte that differs."""
    pairs = enumerate(zip(difference.shown, difference.rebuilt, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(difference.shown), len(difference.rebuilt)))
    text = difference.rebuilt if rebuilt else difference.shown
    return ("…" if at > 40 else "") + text[max(at - 40, 0) : at + 60].decode(errors="replace")


async def _check(database_url: str, note: Note, every_answer: bool) -> Report:
    settings = ApiSettings(database_url=database_url, secret=SecretStr("used for nothing here"))
    log = await PostgresEventLog.open(database_url)
    pool = await connect(settings)
    try:
        for one in PROJECTIONS:
            if await pool.fetchval("SELECT to_regclass($1)", f"{one.schema}.progress") is None:
                raise NotFound(f"no gateway of this release has made the tables of {one.slice} yet: start one first")
        return await compare(settings, log, pool, note, every_answer=every_answer)
    finally:
        await pool.close()
        await log.close()


async def compare(
    settings: ApiSettings, log: EventLog, pool: asyncpg.Pool, note: Note = _silent, *, every_answer: bool = False
) -> Report:
    """The tables in use, and what is answered from them, beside tables grown anew, which are gone afterwards."""
    context = Context(log, MemoryBus())
    in_use, rebuilt = read_model(pool, log), read_model(pool, log, suffix=REBUILT)

    def grown(progress: Progress) -> None:
        note("events told again", progress.shown, progress.head)

    try:
        await rebuilt.drop()
        await rebuilt.prepare()
        await grow(rebuilt, grown)
        await in_use.prepare()
        head = await log.head()
        if growing := [one.schema for one in in_use.growing if head - one.position > FEW]:
            raise Unavailable(f"{', '.join(growing)}: still growing from the log; try again when a gateway is ready")
        await grow(in_use)
        async with (
            asking(Gateway(context, settings, pool, in_use)) as shown,
            asking(Gateway(context, settings, pool, rebuilt)) as anew,
        ):
            report = Report()
            report.rows, report.tables = await compare_tables(pool, shown.gateway.read, rebuilt, note)
            await _compare_answers(report, shown, anew, note, every_answer)
            report.impossible = [*await PostgresAudit(rebuilt).impossible()]
            return report
    finally:
        await rebuilt.drop()


async def _compare_answers(report: Report, shown: Asking, anew: Asking, note: Note, every_answer: bool) -> None:
    paths = await paths_of(shown.gateway.read)
    report.position = await anew.gateway.read.position()
    report.questions = sum(map(len, paths))
    most = report.questions if every_answer else ASKED_MOST
    asked = chosen(paths, most, seed=report.position)
    report.answers = len(asked)
    for first in range(0, len(asked), AT_ONCE):
        note("answers compared", first, len(asked))
        report.differences += await _differences(asked[first : first + AT_ONCE], shown, anew)
    note("answers compared", len(asked), len(asked))


async def _differences(paths: Sequence[str], shown: Asking, anew: Asking) -> list[Difference]:
    pairs = await asyncio.gather(*(asyncio.gather(shown.get(path), anew.get(path)) for path in paths))
    suspects = [path for path, (one, other) in zip(paths, pairs, strict=True) if one != other]
    return [found for path in suspects if (found := await _difference(path, shown, anew))]


async def _difference(path: str, shown: Asking, anew: Asking) -> Difference | None:
    """What differs once both have seen the same events; None when nothing does."""
    for _ in range(ATTEMPTS):
        await asyncio.gather(shown.gateway.read.catch_up(), anew.gateway.read.catch_up())
        before = await shown.gateway.read.position()
        await anew.gateway.read.reached(before)
        answers = await asyncio.gather(shown.get(path), anew.get(path))
        if answers[0] == answers[1]:
            return None
    return Difference(path, *answers)

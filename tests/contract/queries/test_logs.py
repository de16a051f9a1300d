"""What can be asked about the logs of trials: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.kernel.rows import Table
from resolute.api.logs.memory import MemoryLogs
from resolute.api.logs.queries import ExpiredRow, LogQueries, PostgresLogs
from resolute.api.logs.retention import Removed, Retention
from resolute.api.trials.tables import TRIALS, Trial
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def experiment(id_: int, days: int | None) -> Experiment:
    return Experiment(
        id=id_,
        job_id="job",
        name="digits",
        description="",
        labels=(),
        owner_id=1,
        owner="ann",
        project_id=1,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=True,
        resource_pool="main",
        state="ACTIVE",
        started_at=AT,
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=days,
    )


def trial(id_: int, experiment_id: int, **columns: Any) -> Trial:
    return Trial(id_, experiment_id, f"request-{id_}", f"{id_}.task", {}, 0, None, "COMPLETED", AT, **columns)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    EXPERIMENTS: (experiment(1, 30), experiment(2, None)),
    TRIALS: (
        trial(1, 1),
        trial(2, 1, ended_at=AT, log_retention_days=0),
        trial(3, 2, ended_at=AT, logs_removed_at=AT + DAY, logs_removed_after_days=1, logs_removed_lines=1),
        trial(4, 9),
    ),
}

REMOVED = Removed(AT + DAY, after_days=1, lines=1)


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[LogQueries]:
    if database is None:
        yield MemoryLogs(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresLogs(await in_postgres(pool, ROWS))


async def test_the_trial_says_how_long_its_log_is_kept_or_its_experiment_or_the_cluster(queries: LogQueries) -> None:
    assert await queries.retention(1, -1) == Retention(None, 30, None)
    assert await queries.retention(2, -1) == Retention(AT, 0, None), "no days at all is not the same as nothing said"
    assert await queries.retention(3, -1) == Retention(AT, -1, REMOVED)
    assert await queries.retention(3, 90) == Retention(AT, 90, REMOVED)
    assert await queries.retention(4, 90) is None, "its experiment is gone"
    assert await queries.retention(5, 90) is None


async def test_what_was_removed_is_found_by_the_task_of_the_trial(queries: LogQueries) -> None:
    assert await queries.removed("3.task") == REMOVED
    assert await queries.removed("1.task") is None
    assert await queries.removed("no trial's task") is None


def test_the_days_that_are_left_are_counted_from_the_end_of_the_trial() -> None:
    kept = Retention(AT, 3, None)
    assert [kept.remaining_days(AT + days * DAY) for days in (-1, 0, 1, 2.9, 3, 9)] == [3, 3, 2, 1, 0, 0]
    assert Retention(AT, -1, None).remaining_days(AT + 99 * DAY) == -1
    assert Retention(None, 3, None).remaining_days(AT) is None


@pytest.mark.parametrize(("lines", "days", "said"), [(1, 1, "1 line was removed"), (1234, 30, "1,234 lines were")])
def test_a_note_says_what_was_removed_and_why(lines: int, days: int, said: str) -> None:
    note = str(Removed(AT, days, lines))
    assert note.startswith(said)
    assert "on 2026-01-31 at 12:00 UTC" in note
    assert ("for 1 day after" if days == 1 else "for 30 days after") in note


async def test_the_log_of_a_trial_expires_so_many_days_after_its_end(queries: LogQueries) -> None:
    assert await queries.expired(0, -1, AT, 10) == [ExpiredRow(2, "2.task", 1, 0)]
    assert await queries.expired(0, 1, AT + DAY, 10) == [ExpiredRow(2, "2.task", 1, 0), ExpiredRow(3, "3.task", 2, 1)]
    assert await queries.expired(0, 1, AT + DAY - timedelta(seconds=1), 10) == [ExpiredRow(2, "2.task", 1, 0)]


async def test_expired_logs_come_in_pages_in_the_order_of_the_trials(queries: LogQueries) -> None:
    assert [row.trial_id for row in await queries.expired(0, 1, AT + DAY, 1)] == [2]
    assert [row.trial_id for row in await queries.expired(2, 1, AT + DAY, 1)] == [3]
    assert await queries.expired(3, 1, AT + DAY, 1) == []

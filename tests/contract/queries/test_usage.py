"""What can be asked about the use of the cluster: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.identity.projection import USERS
from resolute.api.kernel.rows import Table
from resolute.api.scope import Outside
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.usage.memory import MemoryUsage
from resolute.api.usage.queries import By, Periods, PostgresUsage, UsageQueries
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import experiment, user

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NOW = NEW_YEAR + timedelta(days=2, hours=12)
BEFORE, AFTER = NEW_YEAR - timedelta(days=1), NEW_YEAR + timedelta(days=9)


def allocation(name: str, slots: int, begins_h: float | None, ends_h: float | None = None, **others: Any) -> Allocation:
    """Its times are hours since the beginning of the year."""
    made = Allocation(
        allocation_id=name,
        pool="main",
        task_id=name,
        task_type="TRIAL",
        job_id="job",
        live_job_id="",
        name=name,
        owner="ann",
        slots=slots,
        priority=50,
        weight=1.0,
        max_slots=None,
        experiment_id=1,
        trial_id=1,
        state="RUNNING",
        requested_at=NEW_YEAR,
        assigned_at=None if begins_h is None else NEW_YEAR + timedelta(hours=begins_h),
        ended_at=None if ends_h is None else NEW_YEAR + timedelta(hours=ends_h),
    )
    return replace(made, **others)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "ann"),),
    WORKSPACES: (Workspace(1, "vision", 1, immutable=False),),
    PROJECTS: (Project(1, 1, "digits", "", 1, immutable=False),),
    EXPERIMENTS: (replace(experiment(1, 1, "ACTIVE", NEW_YEAR), labels=("a", "b")),),
    ALLOCATIONS: (
        allocation("over-midnight", 2, 23, 25),
        allocation("an-hour", 1, 1, 2, owner="gone", pool="fast", experiment_id=9),
        allocation("still-there", 1, 48),
        allocation("waits", 8, None),
        allocation("of-no-experiment", 1, 2, 3, experiment_id=None, trial_id=None, task_type="NOTEBOOK"),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[UsageQueries]:
    if database is None:
        yield MemoryUsage(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresUsage(await in_postgres(pool, ROWS))


async def test_allocations_that_held_slots_are_listed_in_the_order_in_which_they_got_them(
    queries: UsageQueries,
) -> None:
    found = await queries.held(Outside(), BEFORE, AFTER, NOW)
    assert [row.allocation_id for row in found] == ["an-hour", "of-no-experiment", "over-midnight", "still-there"]
    assert [row.ended_at for row in found][-1] == NOW


async def test_an_allocation_is_shown_with_its_owner_its_experiment_and_its_workspace(queries: UsageQueries) -> None:
    hour, notebook, trial, _ = await queries.held(Outside(), BEFORE, AFTER, NOW)
    assert (trial.owner, trial.owner_id, trial.slots, trial.pool) == ("ann", 1, 2, "main")
    assert (trial.experiment_id, trial.labels, trial.workspace) == (1, ("a", "b"), "vision")
    assert (hour.owner, hour.owner_id, hour.experiment_id, hour.labels, hour.workspace) == ("gone", None, 9, (), "")
    assert (notebook.task_type, notebook.experiment_id, notebook.workspace) == ("NOTEBOOK", None, "")


async def test_what_lies_outside_of_the_two_instants_is_cut_off(queries: UsageQueries) -> None:
    after, before = NEW_YEAR + timedelta(hours=2), NEW_YEAR + timedelta(hours=24)
    notebook, trial = await queries.held(Outside(), after, before, NOW)
    assert (notebook.allocation_id, trial.allocation_id) == ("of-no-experiment", "over-midnight")
    assert (trial.began_at, trial.ended_at) == (NEW_YEAR + timedelta(hours=23), before)
    assert await queries.held(Outside(), NOW, AFTER, NOW) == []


def hours(*found: tuple[int, str, float]) -> dict[tuple[int, str], float]:
    """By the number of the day and the key."""
    return {(day, key): value for day, key, value in found}


@pytest.mark.parametrize(
    ("by", "found"),
    [
        (By.OWNER, hours((0, "ann", 3), (0, "gone", 1), (1, "ann", 2), (2, "ann", 12))),
        (By.POOL, hours((0, "main", 3), (0, "fast", 1), (1, "main", 2), (2, "main", 12))),
        (By.LABEL, {(day, label): value for label in "ab" for day, value in ((0, 2.0), (1, 2.0), (2, 12.0))}),
        (By.WHOLE, hours((0, "", 4), (1, "", 2), (2, "", 12))),
    ],
)
async def test_slot_seconds_are_summed_by_day(
    queries: UsageQueries, by: By, found: dict[tuple[int, str], float]
) -> None:
    sums = await queries.sums(Outside(), by, Periods(BEFORE, NOW, monthly=False), NOW)
    assert {((one.began_at - NEW_YEAR).days, one.key): one.seconds / 3600 for one in sums} == found


async def test_slot_seconds_are_summed_by_month(queries: UsageQueries) -> None:
    periods = Periods(NEW_YEAR - timedelta(days=31), NOW, monthly=True)
    [one] = await queries.sums(Outside(), By.WHOLE, periods, NOW)
    assert (one.began_at, one.seconds / 3600) == (NEW_YEAR, 18)

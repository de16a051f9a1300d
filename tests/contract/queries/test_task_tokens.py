"""What is asked about the allocation of a task's token: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from resolute.api.identity.projection import USERS
from resolute.api.kernel.rows import Table
from resolute.api.shown_states import ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Placement
from resolute.api.tasks.token_memory import MemoryTokenQueries
from resolute.api.tasks.token_queries import BearerRow, PostgresTokenQueries, TokenQueries
from resolute.api.trials.tables import RUNS, TRIALS, Run
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_tasks import allocation, ended, minutes, notebook, trial
from tests.contract.queries.test_workspaces import user


def run(trial_id: int, run_id: int, allocation_id: str) -> Run:
    return Run(trial_id, run_id, 1, allocation_id, None, 0, minutes(run_id))


def part(resources_id: str, allocation_id: str, exit_code: int | None) -> Placement:
    return Placement(resources_id, allocation_id, 0, "agent-a", (0,), ShareState.EXITED, exit_code=exit_code)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "bob"), user(2, "ann")),
    TRIALS: (replace(trial(1, 1, "1.a"), run_id=2),),
    RUNS: (run(1, 1, "1.a.1"), run(1, 2, "1.a.2")),
    ALLOCATIONS: (
        allocation("1.a.1", "1.a", 1, **ended(5)),
        allocation("1.a.2", "1.a", 2),
        allocation("7.b.1", "7.b", 2, trial_id=7, owner="a stranger", **ended(5)),
        notebook("n.1", "n", 1, **ended(5)),
    ),
    PLACEMENTS: (
        part("x", "1.a.1", 0),
        part("y", "1.a.2", None),
        part("z", "7.b.1", 0),
        part("w", "7.b.1", None),
        part("v", "n.1", 137),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[TokenQueries]:
    if database is None:
        yield MemoryTokenQueries(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresTokenQueries(await in_postgres(pool, ROWS))


async def bearer(queries: TokenQueries, allocation_id: str) -> BearerRow:
    found = await queries.bearer(allocation_id)
    assert found is not None
    return found


async def test_the_newest_run_of_a_trial_bears_its_token_until_it_ends(queries: TokenQueries) -> None:
    assert await queries.bearer("1.a.2") == BearerRow(
        task_id="1.a",
        trial_id=1,
        experiment_id=1,
        owner="ann",
        owner_id=2,
        ended_at=None,
        why="",
        given_up=False,
        newer_run=None,
        deleted=False,
    )
    assert await queries.bearer("1.a") is None


async def test_an_older_run_is_known_by_the_run_that_followed_it(queries: TokenQueries) -> None:
    older = await bearer(queries, "1.a.1")
    assert (older.newer_run, older.ended_at, older.why) == (2, minutes(5), "it was done")


async def test_an_allocation_is_given_up_when_it_ended_and_not_all_its_containers_were_seen_to_end(
    queries: TokenQueries,
) -> None:
    given_up = {one: (await bearer(queries, one)).given_up for one in ("1.a.1", "1.a.2", "7.b.1", "n.1")}
    assert given_up == {"1.a.1": False, "1.a.2": False, "7.b.1": True, "n.1": False}


async def test_a_trial_that_was_deleted_and_an_owner_who_is_no_user_are_told_apart(queries: TokenQueries) -> None:
    assert [(await bearer(queries, one)).deleted for one in ("1.a.2", "7.b.1", "n.1")] == [False, True, False]
    assert [(await bearer(queries, one)).owner_id for one in ("1.a.2", "7.b.1", "n.1")] == [2, 0, 2]

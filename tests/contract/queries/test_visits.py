"""What can be asked about visited projects: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from resolute.api.scope import UNLIMITED, Scope
from resolute.api.visits.memory import MemoryVisits
from resolute.api.visits.projection import VISITS, Visit
from resolute.api.visits.queries import PostgresVisits, VisitQueries
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import AT
from tests.contract.queries.test_workspaces import ROWS as OF_WORKSPACES

ROWS = {
    **OF_WORKSPACES,
    VISITS: (Visit(1, 2, AT, 50), Visit(1, 5, AT, 70), Visit(1, 4, AT, 60), Visit(1, 99, AT, 80), Visit(2, 3, AT, 90)),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[VisitQueries]:
    if database is None:
        yield MemoryVisits(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresVisits(await in_postgres(pool, ROWS))


async def found(queries: VisitQueries, scope: Scope, user_id: int, limit: int = 10) -> list[int]:
    return [row.id for row in await queries.visited(scope, user_id, limit)]


async def test_each_user_sees_the_own_visits_the_newest_first(queries: VisitQueries) -> None:
    assert await found(queries, UNLIMITED, 1) == [5, 4, 2], "project 99 does not exist any more"
    assert await found(queries, UNLIMITED, 1, limit=2) == [5, 4]
    assert await found(queries, UNLIMITED, 2) == [3]
    assert await found(queries, UNLIMITED, 3) == []


async def test_projects_outside_of_the_scope_are_left_out_before_the_limit(queries: VisitQueries) -> None:
    assert await found(queries, Scope(frozenset({2})), 1, limit=2) == [4, 2]
    assert await found(queries, Scope(frozenset()), 1) == []


async def test_a_visited_project_is_shown_whole(queries: VisitQueries) -> None:
    [newest] = await queries.visited(UNLIMITED, 2, 1)
    assert (newest.name, newest.workspace, newest.key, newest.archived) == ("letters", "vision", "LET01", True)

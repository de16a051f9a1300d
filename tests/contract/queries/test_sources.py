"""What can be asked about the use of checkpoints: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.sources.memory import MemorySources
from resolute.api.sources.projection import USES, Use
from resolute.api.sources.queries import PostgresSources, SourceQueries
from resolute.api.workspaces.projection import PROJECTS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import experiment
from tests.contract.queries.test_models import ROWS as OF_MODELS

HOMES: dict[int, int] = {row.id: row.workspace_id for row in OF_MODELS[PROJECTS]}
HERE, THERE = list(HOMES)[:2]

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    PROJECTS: OF_MODELS[PROJECTS],
    EXPERIMENTS: (experiment(8, "job-8", project_id=HERE), experiment(9, "job-9", project_id=THERE)),
    USES: (
        Use("a", 3, 7, 8, "INFERENCE", 0, 0),
        Use("a", 4, 7, 8, "FINE_TUNING", 1, 2),
        Use("a", 5, 7, 9, "INFERENCE", 1, 2),
        Use("b", 3, 7, 8, "INFERENCE", 1, 1),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[SourceQueries]:
    if database is None:
        yield MemorySources(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresSources(await in_postgres(pool, ROWS))


async def test_the_trials_of_a_checkpoint_are_listed_newest_first(queries: SourceQueries) -> None:
    assert list(await queries.of_checkpoint(UNLIMITED, "a", "", 10)) == [5, 4, 3]
    assert list(await queries.of_checkpoint(UNLIMITED, "a", "", 2)) == [5, 4]
    assert list(await queries.of_checkpoint(UNLIMITED, "a", "INFERENCE", 10)) == [5, 3]
    assert list(await queries.of_checkpoint(UNLIMITED, "c", "", 10)) == []


async def test_the_trials_of_a_version_are_those_that_found_the_checkpoint_there(queries: SourceQueries) -> None:
    assert list(await queries.of_version(UNLIMITED, 1, 2, "", 10)) == [5, 4]
    assert list(await queries.of_version(UNLIMITED, 1, 2, "FINE_TUNING", 10)) == [4]
    assert list(await queries.of_version(UNLIMITED, 2, 2, "", 10)) == []


async def test_trials_outside_of_the_scope_are_left_out(queries: SourceQueries) -> None:
    scope = Scope(frozenset({HOMES[HERE]}))
    assert list(await queries.of_checkpoint(scope, "a", "", 10)) == [4, 3]
    assert list(await queries.of_version(scope, 1, 2, "", 10)) == [4]
    assert list(await queries.of_checkpoint(Scope(frozenset()), "a", "", 10)) == []

"""What can be asked about the code of experiments: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.model_definitions.memory import MemoryModelDefinitions
from resolute.api.model_definitions.queries import ModelDefinitionQueries, PostgresModelDefinitions, Submitted
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_experiments import experiment

ROWS = {EXPERIMENTS: (experiment(1, "digits", model_definition="sha"), experiment(2, "bare"))}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[ModelDefinitionQueries]:
    if database is None:
        yield MemoryModelDefinitions(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresModelDefinitions(await in_postgres(pool, ROWS))


async def test_the_code_of_an_experiment_is_found_by_its_address(queries: ModelDefinitionQueries) -> None:
    assert await queries.submitted(1) == Submitted(1, "digits", "sha")


async def test_an_experiment_may_have_no_code(queries: ModelDefinitionQueries) -> None:
    assert await queries.submitted(2) == Submitted(2, "bare", None)
    assert await queries.submitted(3) is None

"""The version of each slice's tables: raised with every change of what is shown, and with nothing else."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import asyncpg
import orjson
import pytest

from resolute.api.kernel.rows import Kind, Projection
from resolute.api.kernel.tables import SliceTables
from resolute.api.slices import PROJECTIONS
from tests.integration.api.projection_outcome import kept, outcomes
from tests.servers import Postgres

TYPES = {
    "timestamp with time zone": Kind.PLAIN,
    "text": Kind.PLAIN,
    "integer": Kind.PLAIN,
    "bigint": Kind.PLAIN,
    "boolean": Kind.PLAIN,
    "double precision": Kind.FLOAT,
    "numeric": Kind.DECIMAL,
    "ARRAY": Kind.ARRAY,
    "jsonb": Kind.DOCUMENT,
}

COLUMNS = """SELECT column_name, data_type FROM information_schema.columns
WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position"""


@pytest.fixture(scope="module")
def found(postgres_server: Postgres) -> dict[str, dict[str, Any]]:
    return asyncio.run(outcomes(postgres_server.fresh_database()))


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda projection: projection.slice)
def test_what_a_projection_makes_of_the_log_has_not_changed_within_its_version(
    found: dict[str, dict[str, Any]], projection: Projection
) -> None:
    assert found[projection.slice] == orjson.loads(kept(projection).read_bytes()), (
        f"the projection of {projection.slice} or its tables have changed: raise its version, unless the last release "
        "has a smaller one already, and run `python -m tests.integration.api.projection_outcome`"
    )


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda projection: projection.slice)
async def test_the_tables_in_postgres_have_the_columns_of_the_rows(empty_database: str, projection: Projection) -> None:
    connection = await asyncpg.connect(empty_database)
    tables = SliceTables(projection)
    await connection.execute(tables.ddl())
    for table in projection.tables:
        columns = {name: TYPES[kind] for name, kind in await connection.fetch(COLUMNS, tables.schema, table.name)}
        assert columns == {column.name: column.kind for column in table.columns}, table
    await connection.close()


LEFT_NOTHING = {"rbac": {"WorkspaceDeleted"}}
"""By slice: events whose samples find that a sample before took the rows away. `tests/unit/api/test_folds_*.py` show
what they come to."""


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda projection: projection.slice)
def test_every_type_of_event_that_a_projection_shows_is_among_the_samples(
    found: dict[str, dict[str, Any]], projection: Projection
) -> None:
    """Else a change of how it is shown would go unnoticed."""
    shows = import_module(projection.project.__module__).SHOWS
    sampled = {name.split()[0] for name in found[projection.slice]["events"]}
    assert {kind.__name__ for kind in shows} - sampled == LEFT_NOTHING.get(projection.slice, set())

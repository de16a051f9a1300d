"""What answers the queries of slices: the twins in memory, and databases with the gateway's tables."""

from __future__ import annotations

import pytest

from tests.integration.api.conftest import database_with_tables, postgres_dsn

__all__ = ["database", "database_with_tables", "postgres_dsn"]


@pytest.fixture(params=["memory", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """The DSN of a database with empty tables, this test's own; None for a test of the twin."""
    return request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None

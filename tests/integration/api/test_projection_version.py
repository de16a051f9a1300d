"""The version of the read model: raised with every change of what is shown, and with nothing else."""

from __future__ import annotations

import orjson
import pytest

from tests.integration.api.projection_outcome import KEPT, outcome


@pytest.fixture
def postgres_dsn(empty_database: str) -> str:
    """The tables are made by what is tested."""
    return empty_database


async def test_what_the_projections_make_of_the_log_has_not_changed_within_their_version(postgres_dsn: str) -> None:
    kept, found = orjson.loads(KEPT.read_bytes()), await outcome(postgres_dsn)
    assert found == kept, (
        "the projections or their tables have changed: raise VERSION in resolute.api.projections, unless the last "
        "release has a smaller one already, and run `python -m tests.integration.api.projection_outcome`"
    )

"""What can be asked about the cluster's message: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.cluster_message.memory import MemoryClusterMessage
from resolute.api.cluster_message.projection import MESSAGES, ClusterMessage
from resolute.api.cluster_message.queries import MessageRow, PostgresClusterMessage
from resolute.api.kernel.rows import Table
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

SET = ClusterMessage(1, "maintenance", AT, AT + HOUR, AT - HOUR)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ({MESSAGES: (SET,)}, MessageRow("maintenance", AT, AT + HOUR, AT - HOUR)),
        ({MESSAGES: ()}, None),
    ],
)
async def test_the_message_is_the_one_that_was_set(
    database: str | None, rows: Mapping[Table[Any], Sequence[Any]], found: MessageRow | None
) -> None:
    if database is None:
        assert await MemoryClusterMessage(in_memory(rows)).message() == found
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        assert await PostgresClusterMessage(await in_postgres(pool, rows)).message() == found


def test_a_message_is_active_from_its_start_to_its_end() -> None:
    row = MessageRow("m", AT, AT + HOUR, AT)
    assert [row.is_active(AT + passed) for passed in (-HOUR, 0 * HOUR, HOUR)] == [False, True, False]
    assert [row.is_over(AT + passed) for passed in (-HOUR, 0 * HOUR, HOUR)] == [False, False, True]
    assert MessageRow("m", AT, None, AT).is_active(AT + 1000 * HOUR)

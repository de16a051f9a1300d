"""What can be asked about webhooks: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.trials.tables import RUNS, TRIALS
from resolute.api.webhooks.memory import MemoryWebhooks
from resolute.api.webhooks.projection import DELIVERIES, WEBHOOKS, Delivery, Webhook
from resolute.api.webhooks.queries import PostgresWebhooks, TriggerRow, WebhookQueries
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

COMPLETED = {"id": 1, "kind": "EXPERIMENT_STATE_CHANGE", "state": "COMPLETED", "regex": ""}
MEMORY = {"id": 2, "kind": "TASK_LOG", "state": "", "regex": "memory"}

OURS = Webhook(1, "ours", "sealed", "DEFAULT", "WORKSPACE", {"triggers": [COMPLETED]}, 1, 2)
THEIRS = Webhook(2, "theirs", "sealed", "SLACK", "SPECIFIC", {"triggers": [COMPLETED, MEMORY]}, 1, 3)
EVERYBODYS = Webhook(3, "everybody's", "sealed", "DEFAULT", "WORKSPACE", {"triggers": [MEMORY]}, 1, None)

FIRST = Delivery(
    "a", 1, 1, "EXPERIMENT_STATE_CHANGE", {"experiment": {"id": 7}}, "DELIVERED", 2, 200, "", 5, AT, None, AT
)
SECOND = replace(FIRST, delivery_id="b", state="DUE", attempts=0, status=None, position=9, next_at=AT, ended_at=None)

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    TRIALS: (),
    RUNS: (),
    WEBHOOKS: (EVERYBODYS, OURS, THEIRS),
    DELIVERIES: (FIRST, SECOND, replace(FIRST, delivery_id="c", webhook_id=2)),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[WebhookQueries]:
    if database is None:
        yield MemoryWebhooks(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresWebhooks(await in_postgres(pool, ROWS))


def within(*workspace_ids: int) -> Scope:
    return Scope(frozenset(workspace_ids))


async def ids(queries: WebhookQueries, scope: Scope) -> list[int]:
    return [row.id for row in await queries.webhooks(scope)]


async def test_webhooks_of_the_cluster_are_seen_in_every_scope(queries: WebhookQueries) -> None:
    assert await ids(queries, UNLIMITED) == [1, 2, 3]
    assert await ids(queries, within(2)) == [1, 3]
    assert await ids(queries, within()) == [3]


async def test_a_webhook_has_its_triggers(queries: WebhookQueries) -> None:
    row = await queries.webhook(2)
    assert row is not None
    assert (row.form, row.mode, row.workspace_id) == ("SLACK", "SPECIFIC", 3)
    assert row.triggers[1] == TriggerRow(2, "TASK_LOG", "", "memory")
    assert await queries.webhook(9) is None


async def test_triggers_that_wait_for_lines_are_found_for_all_webhooks(queries: WebhookQueries) -> None:
    memory = TriggerRow(2, "TASK_LOG", "", "memory")
    assert await queries.of_lines() == [(2, memory), (3, memory)]
    assert await queries.run("alloc-1", "task-1") is None


async def test_the_newest_deliveries_come_first(queries: WebhookQueries) -> None:
    found = await queries.deliveries(1, Window(0, 0))
    assert [row.delivery_id for row in found.rows] == ["b", "a"]
    assert found.rows[1].data == {"experiment": {"id": 7}}
    assert [row.delivery_id for row in (await queries.deliveries(1, Window(1, 1))).rows] == ["a"]
    assert (await queries.deliveries(9, Window(0, 0))).rows == []

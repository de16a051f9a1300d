"""What the lines about a task's life name: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from resolute.api.kernel.rows import Table
from resolute.api.logs.lifecycle_memory import MemoryLifecycle
from resolute.api.logs.lifecycle_queries import (
    AllocationRow,
    HostRow,
    LifecycleQueries,
    PostgresLifecycle,
    TrialRow,
)
from resolute.api.pools.projection import AGENTS, SLOTS
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS
from resolute.api.trials.tables import RUNS, TRIALS
from resolute.proto.pool import Placement
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_pools import agent, slot
from tests.contract.queries.test_task_tokens import part, run
from tests.contract.queries.test_tasks import allocation, notebook, trial

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    TRIALS: (replace(trial(1, 1, "1.a"), run_id=2), trial(2, 5, "2.b")),
    RUNS: (run(1, 1, "1.a.1"), run(1, 2, "1.a.2")),
    ALLOCATIONS: (allocation("1.a.2", "1.a", 1), notebook("n.1", "n", 1)),
    PLACEMENTS: (
        replace(part("a second", "1.a.2", None), share=1, agent_id="agent-b", slot_ids=(2, 3)),
        part("b first", "1.a.2", None),
    ),
    AGENTS: (agent("b", "main", 1), agent("a", "old", 0, alive=False), agent("a", "main", 2)),
    SLOTS: (
        slot("a", "main", 0),
        slot("a", "main", 1, "rocm"),
        slot("a", "main", 10, "cpu"),
        slot("a", "old", 7),
        slot("b", "main", 0, "cpu"),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[LifecycleQueries]:
    if database is None:
        yield MemoryLifecycle(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresLifecycle(await in_postgres(pool, ROWS))


async def test_an_allocation_names_its_placements_in_the_order_of_their_shares(queries: LifecycleQueries) -> None:
    assert await queries.allocations({"1.a.2", "no allocation"}) == [
        AllocationRow(
            "1.a.2",
            "1.a",
            "digits",
            (Placement("b first", "agent-a", (0,)), Placement("a second", "agent-b", (2, 3))),
        )
    ]


async def test_an_allocation_that_waits_has_no_placements(queries: LifecycleQueries) -> None:
    (waiting,) = await queries.allocations({"n.1"})
    assert waiting.placements == ()
    assert await queries.allocations(set()) == []


async def test_a_trial_names_the_allocation_of_its_latest_run(queries: LifecycleQueries) -> None:
    found = {row.id: row for row in await queries.trials({1, 2, 3})}
    assert found == {1: TrialRow(1, "1.a", 1, "1.a.2"), 2: TrialRow(2, "2.b", 5, "")}


async def test_hosts_come_in_the_order_in_which_their_agents_joined_with_the_gpus_of_each_pool(
    queries: LifecycleQueries,
) -> None:
    assert await queries.hosts() == [
        HostRow("a", "host-a", {7: "uuid-7"}),
        HostRow("b", "host-b", {}),
        HostRow("a", "host-a", {0: "uuid-0", 1: "uuid-1"}),
    ]

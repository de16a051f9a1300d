"""States that no right decision leads to: Postgres and the twin in memory find the same ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from resolute.api.kernel.rows import Table
from resolute.api.pools.projection import AGENTS
from resolute.api.shown_states import ShareState
from resolute.api.tasks.audit_memory import MemoryAudit
from resolute.api.tasks.audit_queries import AuditQueries, PostgresAudit
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Placement
from resolute.api.trials.tables import TRIALS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_pools import agent
from tests.contract.queries.test_tasks import allocation, ended, minutes, trial


def share(name: str, allocation_id: str, agent_id: str, slots: tuple[int, ...]) -> Placement:
    return Placement(name, allocation_id, 0, agent_id, slots, ShareState.RUNNING)


RIGHT: Mapping[Table[Any], Sequence[Any]] = {
    AGENTS: (agent("a", "main", 1), agent("a", "old", 0, alive=False)),
    TRIALS: (trial(1, 1, "1.a"), trial(2, 1, "2.b", minutes(9))),
    ALLOCATIONS: (
        allocation("1.a.1", "1.a", 1, **ended(2)),
        allocation("1.a.2", "1.a", 2),
        allocation("2.b.1", "2.b", 2, trial_id=2, **ended(8)),
    ),
    PLACEMENTS: (
        share("w", "1.a.1", "gone", (0, 1)),
        share("x", "1.a.2", "a", (0,)),
        replace(share("y", "1.a.2", "gone", (0,)), state=ShareState.EXITED),
    ),
}

WRONG: Mapping[Table[Any], Sequence[Any]] = {
    AGENTS: (agent("a", "main", 1), agent("a", "aux", 1), agent("b", "main", 1, alive=False)),
    TRIALS: (trial(1, 1, "1.a"), trial(2, 1, "2.b", minutes(9))),
    ALLOCATIONS: (
        allocation("1.a.2", "1.a", 2),
        allocation("1.a.1", "1.a", 1),
        allocation("2.b.1", "2.b", 2, trial_id=2),
    ),
    PLACEMENTS: (
        share("w", "1.a.1", "a", (0, 1)),
        share("x", "1.a.2", "a", (1, 2)),
        share("y", "2.b.1", "b", ()),
    ),
}


@pytest.fixture(params=["right", "wrong"])
async def found(request: pytest.FixtureRequest, database: str | None) -> AsyncIterator[tuple[str, AuditQueries]]:
    rows = RIGHT if request.param == "right" else WRONG
    if database is None:
        yield request.param, MemoryAudit(in_memory(rows))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield request.param, PostgresAudit(await in_postgres(pool, rows))


async def test_each_impossible_state_is_a_sentence_and_right_ones_are_none(found: tuple[str, AuditQueries]) -> None:
    case, queries = found
    impossible = [
        "2.b.1 is QUEUED in pool main, though its trial 2 has ended",
        "2.b.1 runs on agent b, which is not in its pool main",
        "agent a is in several pools at once: aux, main",
        "slot 1 of agent a is held by several at once: 1.a.1, 1.a.2",
        "task 1.a has several allocations at once: 1.a.1, 1.a.2",
    ]
    assert await queries.impossible() == (impossible if case == "wrong" else [])

"""What can be asked about agents, slots and resource pools: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.pools.memory import MemoryPools
from resolute.api.pools.messages import SortAgentsBy
from resolute.api.pools.projection import AGENTS, BINDINGS, SLOTS, Agent, Binding, Slot
from resolute.api.pools.queries import ContainerRow, PoolQueries, PoolRow, PostgresPools, SlotRow
from resolute.api.scope import UNLIMITED, Outside, Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Placement
from resolute.api.workspaces.projection import PROJECTS, Project
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT, allocation, experiment


def agent(agent_id: str, pool: str, hours: int, **columns: Any) -> Agent:
    columns = {"enabled": True, "draining": False, "alive": True} | columns
    return Agent(agent_id, pool, f"host-{agent_id}", "1.0", joined_at=AT + timedelta(hours=hours), **columns)


def slot(agent_id: str, pool: str, number: int, kind: str = "cuda", **columns: Any) -> Slot:
    columns = {"enabled": True, "draining": False} | columns
    return Slot(agent_id, pool, number, kind, f"brand-{pool}", f"uuid-{number}", **columns)


def placement(name: str, allocation_id: str, agent_id: str, slots: tuple[int, ...], state: ShareState) -> Placement:
    return Placement(name, allocation_id, 0, agent_id, slots, state)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    AGENTS: (
        agent("a", "main", 3),
        agent("b", "main", 1, enabled=False, draining=True),
        agent("b", "old", 0, alive=False),
        agent("gone", "main", 2, alive=False),
        agent("gone", "old", 1, alive=False),
        agent("c", "aux", 1),
        agent("twice", "main", 1, alive=False),
        agent("twice", "old", 1, alive=False),
    ),
    SLOTS: (
        slot("a", "main", 0),
        slot("a", "main", 1, enabled=False, draining=True),
        slot("a", "main", 10, "cpu"),
        slot("b", "main", 0),
        slot("b", "old", 7),
        slot("gone", "main", 0),
        slot("gone", "old", 5),
        slot("twice", "main", 3),
        slot("twice", "old", 4),
    ),
    BINDINGS: (Binding("main", 2), Binding("main", 1), Binding("removed", 2)),
    ALLOCATIONS: (
        allocation("runs", "j1", slots=3, state=AllocationState.RUNNING, experiment_id=1),
        allocation("waits", "j1", state=AllocationState.QUEUED, experiment_id=1),
        allocation("other", "j2", slots=0, state=AllocationState.ASSIGNED, experiment_id=2),
        allocation("ended", "j3", state=AllocationState.TERMINATED, experiment_id=2, ended_at=AT),
        allocation("unplaced", "j4", "removed", state=AllocationState.QUEUED),
    ),
    PLACEMENTS: (
        placement("c1", "runs", "a", (0, 10), ShareState.RUNNING),
        placement("c2", "runs", "b", (0,), ShareState.ASSIGNED),
        placement("c3", "other", "a", (), ShareState.RUNNING),
        placement("c4", "runs", "a", (1,), ShareState.EXITED),
        placement("c5", "ended", "b", (0,), ShareState.RUNNING),
    ),
    EXPERIMENTS: (experiment(1, "j1", project_id=1), experiment(2, "j2", project_id=2)),
    PROJECTS: (Project(1, 1, "one", "", 1, immutable=False), Project(2, 2, "two", "", 1, immutable=False)),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[PoolQueries]:
    if database is None:
        yield MemoryPools(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresPools(await in_postgres(pool, ROWS))


async def agents(queries: PoolQueries, by: SortAgentsBy, *, descending: bool = False, **window: int) -> list[str]:
    found = await queries.agents(Outside(), by, descending=descending, window=Window(**window))
    assert found.page.total == 3
    return [row.agent_id for row in found.rows]


async def test_the_agents_that_are_there_are_listed_in_the_order_that_is_asked_for(queries: PoolQueries) -> None:
    assert await agents(queries, SortAgentsBy.UNSPECIFIED) == ["a", "b", "c"]
    assert await agents(queries, SortAgentsBy.ID, descending=True) == ["c", "b", "a"]
    assert await agents(queries, SortAgentsBy.TIME) == ["b", "c", "a"]
    assert await agents(queries, SortAgentsBy.TIME, descending=True) == ["a", "c", "b"]
    assert await agents(queries, SortAgentsBy.ID, offset=1, limit=1) == ["b"]


async def test_an_agent_is_found_while_it_is_there(queries: PoolQueries) -> None:
    found = await queries.agent("b")
    assert found is not None
    assert (found.pool, found.host, found.version, found.enabled, found.draining) == (
        "main",
        "host-b",
        "1.0",
        False,
        True,
    )
    assert found.joined_at == AT + timedelta(hours=1)
    assert await queries.agent("gone") is None
    assert await queries.agent("nobody") is None


async def test_slots_are_those_of_the_pool_where_the_agent_is_or_was_last(queries: PoolQueries) -> None:
    found = await queries.slots(["gone", "b", "a"])
    assert [(row.agent_id, row.slot_id) for row in found] == [("a", 0), ("a", 1), ("a", 10), ("b", 0), ("gone", 0)]
    assert found[0] == SlotRow("a", 0, "cuda", "brand-main", "uuid-0", enabled=True, draining=False)
    assert [(row.enabled, row.draining) for row in found] == [
        (True, False),
        (False, True),
        (True, False),
        (False, True),
        (True, False),
    ], "what holds for an agent holds for its slots"
    assert list(await queries.slots(["c", "nobody"])) == []


async def test_of_two_pools_that_an_agent_joined_at_one_moment_the_first_by_name_counts(queries: PoolQueries) -> None:
    assert [row.slot_id for row in await queries.slots(["twice"])] == [3]


async def test_containers_are_shown_until_they_have_exited(queries: PoolQueries) -> None:
    found = await queries.containers(["a", "c"])
    assert list(found) == [
        ContainerRow("c1", "a", "runs", (0, 10), ShareState.RUNNING),
        ContainerRow("c3", "a", "other", (), ShareState.RUNNING),
    ]
    assert [row.resources_id for row in await queries.containers(["b"])] == ["c2", "c5"]


async def test_allocations_are_within_a_scope_by_the_workspace_of_their_experiment(queries: PoolQueries) -> None:
    asked = ["runs", "other", "unplaced"]
    assert sorted(await queries.allocations_within(UNLIMITED, asked)) == ["other", "runs", "unplaced"]
    assert sorted(await queries.allocations_within(Scope(frozenset({1})), asked)) == ["runs"]
    assert sorted(await queries.allocations_within(Scope(frozenset()), asked)) == []


async def test_a_pool_is_counted_with_its_agents_slots_and_jobs(queries: PoolQueries) -> None:
    assert list(await queries.pools(["main", "empty"])) == [
        PoolRow("aux", agents=1, slots=0, kind="", used=0, auxiliary=0, queued=0, scheduled=0),
        PoolRow("empty", agents=0, slots=0, kind="", used=0, auxiliary=0, queued=0, scheduled=0),
        PoolRow("main", agents=2, slots=4, kind="cuda", used=3, auxiliary=1, queued=1, scheduled=2),
        PoolRow("removed", agents=0, slots=0, kind="", used=0, auxiliary=0, queued=1, scheduled=0),
    ]


async def test_a_pool_is_bound_to_its_workspaces(queries: PoolQueries) -> None:
    assert await queries.bindings() == {"main": frozenset({1, 2}), "removed": frozenset({2})}

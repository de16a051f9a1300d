"""What monitoring systems can ask of the cluster's state: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.kernel.rows import Table
from resolute.api.monitoring.memory import MemoryMonitoring
from resolute.api.monitoring.queries import (
    AllocationRow,
    ContainerRow,
    ExperimentRow,
    MonitoringQueries,
    PostgresMonitoring,
)
from resolute.api.pools.projection import AGENTS, SLOTS, Agent, Slot
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return AT + timedelta(minutes=minutes)


def experiment(id_: int, state: str, ended_at: datetime | None = None, labels: tuple[str, ...] = ()) -> Experiment:
    return Experiment(
        id=id_,
        job_id=f"job-{id_}",
        name="digits",
        description="",
        labels=labels,
        owner_id=1,
        owner="ann",
        project_id=1,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=True,
        resource_pool="main",
        state=state,
        started_at=AT,
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=None,
        ended_at=ended_at,
    )


def allocation(id_: str, requested: int, ended: int | None = None) -> Allocation:
    return Allocation(
        allocation_id=id_,
        pool="main",
        task_id=f"task-{id_}",
        task_type="TRIAL",
        job_id="job-1",
        live_job_id="job-1",
        name=f"Trial {id_}",
        owner="ann",
        slots=1,
        priority=1,
        weight=1.0,
        max_slots=None,
        experiment_id=1,
        trial_id=1,
        state="RUNNING",
        requested_at=at(requested),
        ended_at=None if ended is None else at(ended),
    )


def agent(agent_id: str, pool: str, joined: int, *, alive: bool = True) -> Agent:
    return Agent(agent_id, pool, "host", "1", enabled=True, draining=False, alive=alive, joined_at=at(joined))


def slot(agent_id: str, pool: str, slot_id: int, kind: str, uuid: str) -> Slot:
    return Slot(agent_id, pool, slot_id, kind, "brand", uuid, enabled=True, draining=False)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    EXPERIMENTS: (
        experiment(1, "ACTIVE", labels=("a", "b")),
        experiment(2, "COMPLETED", at(-30)),
        experiment(3, "COMPLETED", at(-5)),
        experiment(4, "PAUSED"),
    ),
    ALLOCATIONS: (
        allocation("first", -60),
        allocation("second", -50),
        allocation("over", -40, ended=-5),
        allocation("long-over", -30, ended=-10),
    ),
    PLACEMENTS: (
        Placement("r-2", "first", 1, "agent-b", (), "RUNNING"),
        Placement("r-1", "first", 0, "agent-a", (0, 1), "RUNNING"),
        Placement("r-3", "second", 0, "agent-a", (2,), "EXITED"),
        Placement("r-4", "over", 0, "agent-a", (3,), "EXITED"),
        Placement("r-5", "long-over", 0, "agent-a", (3,), "EXITED"),
    ),
    AGENTS: (agent("agent-a", "main", 2), agent("agent-a", "spare", 1, alive=False), agent("agent-b", "main", 1)),
    SLOTS: (
        slot("agent-a", "main", 0, "cuda", "GPU-new"),
        slot("agent-a", "spare", 0, "cuda", "GPU-old"),
        slot("agent-a", "spare", 1, "rocm", "GPU-1"),
        slot("agent-b", "main", 0, "cpu", "processor"),
        slot("agent-b", "main", 1, "cuda", ""),
    ),
}

SINCE = at(-10)


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[MonitoringQueries]:
    if database is None:
        yield MemoryMonitoring(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresMonitoring(await in_postgres(pool, ROWS))


async def test_allocations_that_live_come_first_and_those_that_ended_before_are_left_out(
    queries: MonitoringQueries,
) -> None:
    assert list(await queries.allocations(SINCE)) == [
        AllocationRow("second", "task-second", "Trial second", "job-1", True),
        AllocationRow("first", "task-first", "Trial first", "job-1", True),
        AllocationRow("over", "task-over", "Trial over", "job-1", False),
    ]


async def test_a_container_lives_until_it_exits_and_while_its_allocation_does(queries: MonitoringQueries) -> None:
    assert list(await queries.containers(SINCE)) == [
        ContainerRow("r-1", "first", "agent-a", (0, 1), True),
        ContainerRow("r-2", "first", "agent-b", (), True),
        ContainerRow("r-4", "over", "agent-a", (3,), False),
        ContainerRow("r-3", "second", "agent-a", (2,), False),
    ]


async def test_a_gpu_is_that_of_the_pool_which_the_agent_joined_last(queries: MonitoringQueries) -> None:
    assert await queries.gpus() == {("agent-a", 0): "GPU-new", ("agent-a", 1): "GPU-1"}


async def test_experiments_are_listed_with_their_labels_and_counted_by_state(queries: MonitoringQueries) -> None:
    assert list(await queries.experiments(SINCE)) == [
        ExperimentRow(4, "job-4", (), True),
        ExperimentRow(1, "job-1", ("a", "b"), True),
        ExperimentRow(3, "job-3", (), False),
    ]
    assert list((await queries.counts()).items()) == [("ACTIVE", 1), ("COMPLETED", 2), ("PAUSED", 1)]

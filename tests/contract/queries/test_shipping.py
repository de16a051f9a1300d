"""What is asked about the runs whose lines arrive: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import CONFIGS, ExperimentConfig
from resolute.api.kernel.rows import Table
from resolute.api.logs.shipping_memory import MemoryShipping
from resolute.api.logs.shipping_queries import PoliciesRow, PostgresShipping, ShareRow, ShippingQueries
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS
from resolute.api.trials.tables import RUNS, TRIALS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_task_tokens import part, run
from tests.contract.queries.test_tasks import allocation, ended, minutes, notebook, trial

POLICIES = [{"name": "out of memory", "pattern": "OOM", "action": None}]

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    CONFIGS: (ExperimentConfig(1, {"log_policies": POLICIES}, "{}"), ExperimentConfig(2, {"name": "quiet"}, "{}")),
    TRIALS: (trial(1, 1, "1.a"), trial(2, 2, "2.b"), trial(3, 9, "3.c")),
    RUNS: (run(1, 1, "1.a.1"), run(1, 2, "1.a.2"), run(2, 1, "2.b.1"), run(3, 1, "3.c.1")),
    ALLOCATIONS: (
        allocation("1.a.1", "1.a", 1, **ended(5)),
        allocation("1.a.2", "1.a", 2),
        allocation("7.b.1", "7.b", 2, trial_id=7, **ended(5)),
        notebook("n.1", "n", 1),
    ),
    PLACEMENTS: (
        part("seen to end", "1.a.1", 0),
        part("lost", "1.a.1", None),
        part("running", "1.a.2", None),
        part("deleted", "7.b.1", 0),
        part("of a notebook", "n.1", None),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[ShippingQueries]:
    if database is None:
        yield MemoryShipping(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresShipping(await in_postgres(pool, ROWS))


async def test_a_share_says_of_which_task_it_is_and_on_which_agent(queries: ShippingQueries) -> None:
    (share,) = await queries.shares({"running"})
    assert share == ShareRow("agent-a", "running", "1.a.2", "1.a", 1, None, deleted=False)
    (other,) = await queries.shares({"of a notebook", "no share at all"})
    assert (other.task_id, other.experiment_id, other.deleted) == ("n", None, False)
    assert await queries.shares(set()) == []


async def test_a_share_is_given_up_when_its_allocation_ended_and_no_agent_reported_its_end(
    queries: ShippingQueries,
) -> None:
    found = await queries.shares({"seen to end", "lost", "running", "deleted"})
    assert {share.resources_id: (share.given_up_at, share.deleted) for share in found} == {
        "seen to end": (None, False),
        "lost": (minutes(5), False),
        "running": (None, False),
        "deleted": (None, True),
    }


async def test_the_policies_of_a_run_are_those_of_its_experiment(queries: ShippingQueries) -> None:
    assert await queries.policies("1.a.2", "1.a") == PoliciesRow(1, 1, 2, POLICIES)
    assert await queries.policies("2.b.1", "2.b") == PoliciesRow(2, 2, 1, [])


async def test_there_are_no_policies_of_what_is_no_run(queries: ShippingQueries) -> None:
    assert await queries.policies("1.a.1", "2.b") is None, "the allocation of another task"
    assert await queries.policies("n.1", "n") is None, "a notebook"
    assert await queries.policies("3.c.1", "3.c") is None, "a run whose experiment is gone"

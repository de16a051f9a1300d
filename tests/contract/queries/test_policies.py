"""What can be asked about configuration policies: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.rows import Table
from resolute.api.policies.memory import MemoryPolicies
from resolute.api.policies.projection import POLICIES, Policy
from resolute.api.policies.queries import PolicyQueries, PolicyRow, PostgresPolicies
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import experiment

LIMIT = {"priority_limit": 50}

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(2, "vision", 2, False)),
    PROJECTS: (Project(3, 2, "digits", "", 2, immutable=False),),
    EXPERIMENTS: (experiment(1, "job", project_id=3),),
    POLICIES: (
        Policy(0, "EXPERIMENT", {"debug": True}, {}),
        Policy(2, "EXPERIMENT", {}, LIMIT),
        Policy(2, "NTSC", {}, {"resources": {"max_slots": 1}}),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[PolicyQueries]:
    if database is None:
        yield MemoryPolicies(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresPolicies(await in_postgres(pool, ROWS))


async def test_policies_are_found_by_workload_and_workspace_with_the_clusters_first(queries: PolicyQueries) -> None:
    of_cluster, of_vision = PolicyRow(0, "", {"debug": True}, {}), PolicyRow(2, "vision", {}, LIMIT)
    assert await queries.policies("EXPERIMENT", [2, 0]) == [of_cluster, of_vision]
    assert await queries.policies("EXPERIMENT", [1, 0]) == [of_cluster]
    assert await queries.policies("NTSC", [0, 1]) == []


async def test_an_experiment_is_in_a_workspace_and_what_does_not_exist_is_in_none(queries: PolicyQueries) -> None:
    assert await queries.workspace_of(1) == 2
    assert await queries.workspace_of(9) is None
    assert (await queries.has_workspace(2), await queries.has_workspace(0)) == (True, False)

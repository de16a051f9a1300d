"""What can be asked about configuration policies: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class PolicyRow:
    workspace_id: int
    """0 for the cluster."""
    workspace: str
    """Its name; empty for the cluster."""
    invariant_config: Mapping[str, Any] = field(repr=False)
    """Its secrets are sealed."""
    constraints: dict[str, Any]


class PolicyQueries(Protocol):
    async def policies(self, workload: str, workspace_ids: Sequence[int]) -> Sequence[PolicyRow]:
        """Those that are set for `workload` in these workspaces, by the number of the workspace."""

    async def workspace_of(self, experiment_id: int) -> int | None:
        """The workspace that an experiment is in."""

    async def has_workspace(self, workspace_id: int) -> bool: ...


SELECT = """SELECT p.workspace_id, coalesce(w.name, '') AS workspace, p.invariant_config, p.constraints
FROM read_policies.policies p LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
WHERE p.workload = $1 AND p.workspace_id = ANY($2::int[]) ORDER BY p.workspace_id"""

WORKSPACE_OF = """SELECT p.workspace_id FROM read_experiments.experiments e
JOIN read_workspaces.projects p ON p.id = e.project_id WHERE e.id = $1"""


class PostgresPolicies:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def policies(self, workload: str, workspace_ids: Sequence[int]) -> Sequence[PolicyRow]:
        return [_policy(row) for row in await self._tables.rows(SELECT, workload, list(workspace_ids))]

    async def workspace_of(self, experiment_id: int) -> int | None:
        found: int | None = await self._tables.value(WORKSPACE_OF, experiment_id)
        return found

    async def has_workspace(self, workspace_id: int) -> bool:
        return bool(await self._tables.value("SELECT true FROM read_workspaces.workspaces WHERE id = $1", workspace_id))


def _policy(row: asyncpg.Record) -> PolicyRow:
    invariant_config, constraints = orjson.loads(row["invariant_config"]), orjson.loads(row["constraints"])
    return PolicyRow(row["workspace_id"], row["workspace"], invariant_config, constraints)


QUERIES: Port[PolicyQueries] = Port(PostgresPolicies)

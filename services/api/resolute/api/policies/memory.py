"""The twin of the queries about configuration policies: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.policies.projection import POLICIES
from resolute.api.policies.queries import PolicyRow
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES


@dataclass(frozen=True)
class MemoryPolicies:
    tables: CachedRows

    async def policies(self, workload: str, workspace_ids: Sequence[int]) -> Sequence[PolicyRow]:
        rows = (self.tables.get(POLICIES, one, workload) for one in sorted(set(workspace_ids)))
        return [
            PolicyRow(row.workspace_id, self._name(row.workspace_id), row.invariant_config or {}, row.constraints or {})
            for row in rows
            if row is not None
        ]

    def _name(self, workspace_id: int) -> str:
        row = self.tables.get(WORKSPACES, workspace_id)
        return "" if row is None else row.name

    async def workspace_of(self, experiment_id: int) -> int | None:
        experiment = self.tables.get(EXPERIMENTS, experiment_id)
        project = self.tables.get(PROJECTS, experiment.project_id) if experiment is not None else None
        return None if project is None else project.workspace_id

    async def has_workspace(self, workspace_id: int) -> bool:
        return self.tables.get(WORKSPACES, workspace_id) is not None

"""The twin of the queries about the use of checkpoints: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.scope import Scope
from resolute.api.sources.projection import USES, Use
from resolute.api.workspaces.projection import PROJECTS


@dataclass(frozen=True)
class MemorySources:
    tables: CachedRows

    async def of_checkpoint(self, scope: Scope, uuid: str, use: str, most: int) -> Sequence[int]:
        return self._trials(scope, use, most, lambda row: row.checkpoint == uuid)

    async def of_version(self, scope: Scope, model_id: int, version: int, use: str, most: int) -> Sequence[int]:
        return self._trials(scope, use, most, lambda row: (row.model_id, row.model_version) == (model_id, version))

    def _trials(self, scope: Scope, use: str, most: int, wanted: Callable[[Use], bool]) -> Sequence[int]:
        found = {
            row.trial_id
            for row in self.tables.all(USES)
            if wanted(row) and use in ("", row.use) and self._is_within(scope, row)
        }
        return sorted(found, reverse=True)[:most]

    def _is_within(self, scope: Scope, row: Use) -> bool:
        experiment = self.tables.get(EXPERIMENTS, row.by)
        project = None if experiment is None else self.tables.get(PROJECTS, experiment.project_id)
        return scope.covers(None if project is None else project.workspace_id)

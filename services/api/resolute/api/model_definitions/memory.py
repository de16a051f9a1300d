"""The twin of the queries about the code of experiments: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.model_definitions.queries import Submitted


@dataclass(frozen=True)
class MemoryModelDefinitions:
    tables: CachedRows

    async def submitted(self, experiment_id: int) -> Submitted | None:
        row = self.tables.get(EXPERIMENTS, experiment_id)
        return None if row is None else Submitted(row.id, row.name, row.model_definition)

"""The twin of what access and other slices ask about one checkpoint: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.trials.tables import TRIALS


@dataclass(frozen=True)
class MemoryCheckpointLookups:
    """`tables`: those of checkpoints and trials."""

    tables: CachedRows

    async def experiment_of(self, uuid: str) -> int | None:
        checkpoint = self.tables.get(CHECKPOINTS, uuid)
        return None if checkpoint is None else checkpoint.experiment_id

    async def begun_from(self, uuid: str) -> frozenset[int]:
        return frozenset(trial.experiment_id for trial in self.tables.all(TRIALS) if trial.warm_start == uuid)

"""The twin of what the gateway asks about a token's allocation: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation
from resolute.api.tasks.token_queries import BearerRow
from resolute.api.trials.tables import RUNS, TRIALS


@dataclass(frozen=True)
class MemoryTokenQueries:
    """`tables`: those of tasks, trials and users."""

    tables: CachedRows

    async def bearer(self, allocation_id: str) -> BearerRow | None:
        row = self.tables.get(ALLOCATIONS, allocation_id)
        if row is None:
            return None
        return BearerRow(
            task_id=row.task_id,
            trial_id=row.trial_id,
            experiment_id=row.experiment_id,
            owner=row.owner,
            owner_id=next((user.id for user in self.tables.all(USERS) if user.username == row.owner), 0),
            ended_at=row.ended_at,
            why=row.why,
            given_up=row.ended_at is not None and self._lost_sight_of(allocation_id),
            newer_run=self._newer_run(row),
            deleted=row.trial_id is not None and self.tables.get(TRIALS, row.trial_id) is None,
        )

    def _lost_sight_of(self, allocation_id: str) -> bool:
        placements = self.tables.where(PLACEMENTS, "allocation_id", allocation_id)
        return any(placement.exit_code is None for placement in placements)

    def _newer_run(self, row: Allocation) -> int | None:
        trial = None if row.trial_id is None else self.tables.get(TRIALS, row.trial_id)
        if trial is None:
            return None
        runs = self.tables.where(RUNS, "trial_id", trial.id)
        own = next((run.run_id for run in runs if run.allocation_id == row.allocation_id), None)
        return trial.run_id if own is not None and trial.run_id > own else None

"""What can be asked about how a trial follows its search, answered from rows in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.experiments.projection import CONFIGS
from resolute.api.kernel.cache import CachedRows
from resolute.api.searches.queries import TrialTarget
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.trials.tables import RUNS, TRIALS, Run, Trial

UNITS = ("batches", "records", "epochs")


@dataclass(frozen=True, slots=True)
class MemorySearches:
    tables: CachedRows

    async def target(self, trial_id: int) -> TrialTarget | None:
        trial = self.tables.get(TRIALS, trial_id)
        if trial is None:
            return None
        run = self.tables.get(RUNS, trial_id, trial.run_id)
        allocation = None if run is None else self._allocation(run)
        return TrialTarget(
            length=trial.target,
            reached=trial.target_reached,
            finished=trial.ended_at is not None or (run is not None and run.ended_at is not None) or self._done(trial),
            stop_asked=run is not None and run.stop_asked,
            preempting=allocation is not None and allocation.preemption_deadline_at is not None,
            allocation_id="" if run is None else run.allocation_id,
        )

    def _allocation(self, run: Run) -> Allocation | None:
        return self.tables.get(ALLOCATIONS, run.allocation_id)

    def _done(self, trial: Trial) -> bool:
        """Whether the trial has reached the length of the whole search."""
        config = self.tables.get(CONFIGS, trial.experiment_id)
        assert config is not None, "every experiment has a configuration"
        length = (config.config.get("searcher") or {}).get("max_length") or {}
        most = next((int(length[unit]) for unit in UNITS if length.get(unit) is not None), None)
        return trial.target_reached and trial.target is not None and most is not None and trial.target >= most

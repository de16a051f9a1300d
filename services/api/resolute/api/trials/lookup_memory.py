"""The twin of what other slices ask about one trial: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.trials.lookup_queries import TrialRef
from resolute.api.trials.tables import TRIALS, Trial


@dataclass(frozen=True)
class MemoryTrialLookups:
    """`tables`: those of experiments and trials."""

    tables: CachedRows

    async def trial(self, trial_id: int) -> TrialRef | None:
        return self._ref(self.tables.get(TRIALS, trial_id))

    async def exists(self, trial_id: int) -> bool:
        return self.tables.get(TRIALS, trial_id) is not None

    async def trial_of_task(self, task_id: str) -> TrialRef | None:
        return self._ref(next((trial for trial in self.tables.all(TRIALS) if trial.task_id == task_id), None))

    def _ref(self, trial: Trial | None) -> TrialRef | None:
        if trial is None:
            return None
        experiment = self.tables.get(EXPERIMENTS, trial.experiment_id)
        config = self.tables.get(CONFIGS, trial.experiment_id)
        if experiment is None or config is None:
            return None
        return TrialRef(
            trial_id=trial.id,
            experiment_id=trial.experiment_id,
            task_id=trial.task_id,
            metric=experiment.searcher_metric,
            smaller_is_better=experiment.smaller_is_better,
            storage=config.config.get("checkpoint_storage") or {},
            searcher=experiment.searcher_type,
            time_metric=(config.config.get("searcher") or {}).get("time_metric"),
            unmanaged=experiment.unmanaged,
        )

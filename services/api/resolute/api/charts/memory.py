"""The twin of the queries of charts: the same answers, from rows and reports that are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from resolute.api.charts.queries import ChartedExperiment, ChartedTrial, ChartPoint, Metric, NamedMetrics, Stretch
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.metrics import thinning
from resolute.api.metrics.memory import MemoryMetrics
from resolute.api.metrics.queries import BEFORE_ALL_STEPS, Stored
from resolute.api.trials.tables import TRIALS


@dataclass(frozen=True)
class MemoryCharts:
    tables: CachedRows
    rows: Sequence[Stored] = field(default=(), repr=False)
    """Everything that was reported, of all runs."""

    async def experiments(self, ids: Sequence[int]) -> Sequence[ChartedExperiment]:
        found = [one for id_ in sorted(set(ids)) if (one := self.tables.get(EXPERIMENTS, id_)) is not None]
        return [
            ChartedExperiment(one.id, one.state, one.searcher_type, one.searcher_metric, one.smaller_is_better)
            for one in found
        ]

    async def trials(self, experiment_ids: Sequence[int]) -> Sequence[ChartedTrial]:
        found = [one for one in self.tables.all(TRIALS) if one.experiment_id in experiment_ids]
        return [
            ChartedTrial(
                one.id, one.experiment_id, one.run_id, one.hparams or {}, one.best_metric, one.latest_steps or 0
            )
            for one in sorted(found, key=lambda one: one.id)
        ]

    async def names(self, trial_ids: Sequence[int], after: Mapping[tuple[int, str], int]) -> Sequence[NamedMetrics]:
        found = []
        for trial_id, group in sorted({(row.trial_id, row.kind) for row in self.rows if row.trial_id in trial_ids}):
            beyond = after.get((trial_id, group))
            rows = [row for row in self._of(trial_id, group) if row.metrics and (beyond is None or row.steps > beyond)]
            if rows:
                names = tuple(sorted({name for row in rows for name in row.metrics}))
                found.append(NamedMetrics(trial_id, group, names, max(row.steps for row in rows)))
        return found

    async def batches(self, metric: Metric, after: Mapping[int, int], most: int) -> Sequence[tuple[int, int]]:
        found = []
        for trial_id, beyond in after.items():
            rows = [row for row in self._of(trial_id, metric.group) if metric.name in row.metrics]
            found += [(trial_id, steps) for steps in sorted({row.steps for row in rows if row.steps > beyond})]
        return found[:most]

    async def points(self, trial_id: int, metric: Metric, wanted: Stretch) -> Sequence[ChartPoint]:
        found = [
            one
            for one in self._curve(trial_id, metric)
            if one.steps > wanted.after
            and (wanted.first == 0 or one.steps >= wanted.first)
            and (wanted.last == 0 or one.steps <= wanted.last)
        ]
        return [found[place] for place in thinning.kept([one.value for one in found], wanted.most)]

    async def nearest(
        self, trial_ids: Sequence[int], metric: Metric, steps: int, margin: int
    ) -> Mapping[int, ChartPoint]:
        found = {}
        for trial_id in trial_ids:
            around = [one for one in self._curve(trial_id, metric) if abs(one.steps - steps) <= margin]
            if around:
                found[trial_id] = min(around, key=lambda one: (abs(one.steps - steps), one.steps))
        return found

    def _of(self, trial_id: int, group: str) -> list[Stored]:
        return [row for row in self.rows if (row.trial_id, row.kind) == (trial_id, group)]

    def _curve(self, trial_id: int, metric: Metric) -> list[ChartPoint]:
        latest = MemoryMetrics(self.rows).latest(trial_id, metric.group)
        numbers = [(row, row.metrics.get(metric.name)) for row in latest if row.steps > BEFORE_ALL_STEPS]
        return [
            ChartPoint(row.steps, float(value), row.reported_at)
            for row, value in numbers
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]

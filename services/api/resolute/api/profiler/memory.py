"""The twin of the queries about system metrics: the same answers, from rows and reports that are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.api.kernel.cache import CachedRows
from resolute.api.measures.metrics import MetricRow
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.profiler.queries import Point, in_order
from resolute.api.profiler.series import GROUPS, Series, is_number, series_in
from resolute.api.trials.tables import TRIALS
from resolute.proto.states import is_over


@dataclass(frozen=True)
class MemoryProfiler:
    """`tables`: that of trials. `rows`: everything that was reported."""

    tables: CachedRows
    rows: Sequence[MetricRow] = ()

    async def series(self, trial_id: int, after: int = BEFORE_ALL_STEPS) -> Sequence[Series]:
        rows = (row for row in self._of(trial_id) if row.steps > after)
        return in_order(list({series for row in rows for series in series_in(row.kind, row.metrics)}))

    async def points(self, trial_id: int, series: Series, after: int, most: int) -> Sequence[Point]:
        latest: dict[int, Point] = {}
        for row in sorted(self._of(trial_id), key=lambda row: row.run_id):
            value = _at(row.metrics, (series.agent_id, *series.path))
            if row.kind == series.group and row.steps > after and is_number(value):
                batches = int((row.batch_metrics or [{}])[0].get("batches", 0))
                latest[row.steps] = Point(row.steps, row.reported_at, float(value), batches)
        return [latest[second] for second in sorted(latest)][:most]

    async def newest(self, trial_id: int) -> int:
        return max((row.steps for row in self._of(trial_id)), default=BEFORE_ALL_STEPS)

    async def is_over(self, trial_id: int) -> bool:
        trial = self.tables.get(TRIALS, trial_id)
        return trial is None or is_over(trial.state)

    def _of(self, trial_id: int) -> list[MetricRow]:
        return [row for row in self.rows if row.trial_id == trial_id and row.kind in GROUPS and row.steps < 0]


def _at(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document

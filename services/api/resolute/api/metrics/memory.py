"""The twin of the queries about metrics: the same answers, from reports that are in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.metrics.queries import PAGE, CheckpointRow, Point, Series, Stored, Workloads
from resolute.api.metrics.thinning import kept_together


@dataclass(frozen=True)
class MemoryMetrics:
    """`rows`: everything that was stored, of all runs. `checkpoint_rows`: by trial, in the order of steps."""

    rows: Sequence[Stored]
    checkpoint_rows: Mapping[int, Sequence[CheckpointRow]] = field(default_factory=dict)

    async def groups(self, trial_id: int) -> Sequence[str]:
        return sorted({row.kind for row in self.rows if row.trial_id == trial_id})

    async def reports(self, trial_id: int, group: str, page: int = PAGE) -> AsyncIterator[Sequence[Stored]]:
        found = self.latest(trial_id, group)
        for start in range(0, len(found), page):
            yield found[start : start + page]

    async def series(self, trial_id: int, group: str, wanted: Series) -> Sequence[Point]:
        found = [row for row in self.latest(trial_id, group) if _is_wanted(row, wanted)]
        return [Point(row.steps, row.metrics, row.reported_at) for row in self._thinned(found, wanted)]

    async def workloads(self, trial_id: int, wanted: Workloads, window: Window) -> Listed[Stored | CheckpointRow]:
        groups = [group for group in ("training", "validation") if group in wanted.groups]
        reports = [row for group in groups for row in self.latest(trial_id, group)]
        checkpoints = self.checkpoint_rows.get(trial_id, ()) if wanted.checkpoints else ()
        several: list[Stored | CheckpointRow] = [*reports, *checkpoints]
        found = sorted(several, key=lambda row: row.steps)
        return cut(found[::-1] if wanted.newest_first else found, window)

    def _thinned(self, rows: Sequence[Stored], wanted: Series) -> Sequence[Stored]:
        points = [
            {name: value for name, value in numbers_of(row).items() if not wanted.names or name in wanted.names}
            for row in rows
        ]
        return [rows[place] for place in kept_together(points, wanted.most)]

    def latest(self, trial_id: int, group: str) -> list[Stored]:
        """Of each step the latest run, in order of steps."""
        of_group = (row for row in self.rows if (row.trial_id, row.kind) == (trial_id, group))
        by_step = {row.steps: row for row in sorted(of_group, key=lambda row: row.run_id)}
        return [by_step[steps] for steps in sorted(by_step)]


def _is_wanted(row: Stored, wanted: Series) -> bool:
    return (
        (wanted.first == 0 or row.steps >= wanted.first)
        and (wanted.last == 0 or row.steps <= wanted.last)
        and (not wanted.names or not row.metrics.keys().isdisjoint(wanted.names))
    )


def numbers_of(row: Stored) -> dict[str, float]:
    """The metrics of a report that are numbers."""
    return {
        name: float(value)
        for name, value in row.metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }

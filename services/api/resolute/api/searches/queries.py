"""What can be asked about how a trial follows its search: the port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class TrialTarget:
    """How far a trial shall train, and whether its latest run has more to do."""

    length: int | None
    """In all, in the unit of `searcher.max_length`; None while the search has set no target."""
    reached: bool
    finished: bool
    """There will be no further target."""
    stop_asked: bool
    """The search or a user wants the run to end: the run will be asked to give its slots back."""
    preempting: bool
    """The run is asked to give its slots back."""
    allocation_id: str
    """Of the latest run; empty before the first."""

    def beyond(self, length: int) -> bool:
        """Whether there is something for this run to train after `length`."""
        return self.length is not None and self.length > length and not self.reached and not self.stop_asked


class SearchQueries(Protocol):
    async def target(self, trial_id: int) -> TrialTarget | None:
        """None for a trial that the tables do not have."""


TARGET = """SELECT t.target, t.target_reached, r.allocation_id,
    a.preemption_deadline_at IS NOT NULL AS preempting,
    coalesce(r.stop_asked, false) AS stop_asked,
    t.ended_at IS NOT NULL OR r.ended_at IS NOT NULL
        OR (t.target_reached AND t.target >= coalesce(f.config #>> '{searcher,max_length,batches}',
            f.config #>> '{searcher,max_length,records}',
            f.config #>> '{searcher,max_length,epochs}')::bigint) AS finished
FROM read_trials.trials t
JOIN read_experiments.experiment_configs f ON f.experiment_id = t.experiment_id
LEFT JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
LEFT JOIN read_tasks.allocations a ON a.allocation_id = r.allocation_id
WHERE t.id = $1"""


class PostgresSearches:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def target(self, trial_id: int) -> TrialTarget | None:
        row = await self._tables.row(TARGET, trial_id)
        if row is None:
            return None
        return TrialTarget(
            length=row["target"],
            reached=row["target_reached"],
            finished=bool(row["finished"]),
            stop_asked=row["stop_asked"],
            preempting=row["preempting"],
            allocation_id=row["allocation_id"] or "",
        )


QUERIES: Port[SearchQueries] = Port(PostgresSearches)

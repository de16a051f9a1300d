"""What other slices ask about one trial: whose it is, and what its search goes by. The port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.ports import Port, Tables
from resolute.config import HALVING


@dataclass(frozen=True, slots=True)
class TrialRef:
    """What never changes about a trial, whatever is edited or continued."""

    trial_id: int
    experiment_id: int
    task_id: str
    metric: str
    """The searcher's metric."""
    smaller_is_better: bool
    storage: dict[str, Any]
    """The experiment's `checkpoint_storage`."""
    searcher: str = "single"
    """The search method's name."""
    time_metric: str | None = None
    """The metric that says how far a trial has come, where the search goes by a time."""
    unmanaged: bool = False
    """Whether it runs outside of the cluster, and a user reports for it."""

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """The metrics that each validation must have, because the search compares trials by them. To other searches, as
        in Determined, a validation without the searcher's metric is only a measurement."""
        if self.searcher not in HALVING or self.unmanaged:
            return ()
        return (self.metric,) if self.time_metric is None else (self.metric, self.time_metric)

    @property
    def task_ids(self) -> list[str]:
        return [self.task_id]


class TrialLookups(Protocol):
    async def trial(self, trial_id: int) -> TrialRef | None: ...

    async def exists(self, trial_id: int) -> bool:
        """Whether there is such a trial: the quickest of these questions."""

    async def trial_of_task(self, task_id: str) -> TrialRef | None:
        """None also for a task that is no trial's."""


TRIAL = """SELECT t.id, t.experiment_id, t.task_id, e.searcher_metric, e.smaller_is_better,
    e.searcher_type, e.unmanaged, f.config #>> '{searcher,time_metric}' AS time_metric,
    f.config -> 'checkpoint_storage' AS storage
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id"""

EXISTS = "SELECT EXISTS (SELECT FROM read_trials.trials WHERE id = $1)"


class PostgresTrialLookups:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def trial(self, trial_id: int) -> TrialRef | None:
        return _ref(await self._tables.row(f"{TRIAL} WHERE t.id = $1", trial_id))

    async def exists(self, trial_id: int) -> bool:
        return bool(await self._tables.value(EXISTS, trial_id))

    async def trial_of_task(self, task_id: str) -> TrialRef | None:
        return _ref(await self._tables.row(f"{TRIAL} WHERE t.task_id = $1", task_id))


def _ref(row: asyncpg.Record | None) -> TrialRef | None:
    if row is None:
        return None
    return TrialRef(
        trial_id=row["id"],
        experiment_id=row["experiment_id"],
        task_id=row["task_id"],
        metric=row["searcher_metric"],
        smaller_is_better=row["smaller_is_better"],
        storage=orjson.loads(row["storage"] or "{}"),
        searcher=row["searcher_type"],
        time_metric=row["time_metric"],
        unmanaged=row["unmanaged"],
    )


LOOKUPS: Port[TrialLookups] = Port(PostgresTrialLookups)

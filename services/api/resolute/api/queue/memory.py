"""The twin of the queries about the queue: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter

from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.queue.order import PoolOrders
from resolute.api.queue.projection import JOBS
from resolute.api.queue.queries import JobRow, Progress, Standing, WaitedRow, WantedJobs, experiment_number
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.trials.tables import STANDINGS, TRIALS
from resolute.api.workspaces.projection import PROJECTS


@dataclass(frozen=True)
class MemoryQueue:
    """`tables`: those of all slices. Texts are compared as the database `C` compares them."""

    tables: CachedRows
    progress: Mapping[int, float] = field(default_factory=dict)
    """What trials report, by their numbers."""

    async def jobs(
        self, scope: Scope, orders: PoolOrders, wanted: WantedJobs, *, descending: bool, window: Window
    ) -> Listed[JobRow]:
        found = [
            row
            for row in self._ranked(orders)
            if scope.covers(row.workspace_id)
            and wanted.pool in ("", row.pool)
            and (wanted.scheduled is None or row.standing.scheduled in wanted.scheduled)
        ]
        return cut(found[::-1] if descending else found, window)

    async def job(self, orders: PoolOrders, job_id: str) -> JobRow | None:
        return next((row for row in self._ranked(orders) if row.job_id == job_id), None)

    async def standing(self, orders: PoolOrders, job_id: str) -> Standing | None:
        found = [row.standing for row in self._ranked(orders) if row.job_id == job_id]
        return next((one for one in found if one.scheduled), found[0] if found else None)

    async def waited(self, since: datetime) -> Sequence[WaitedRow]:
        waited: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for one in self.tables.all(ALLOCATIONS):
            if one.assigned_at is not None and one.assigned_at >= since:
                day = one.assigned_at.astimezone(UTC).date().isoformat()
                waited[one.pool, day].append((one.assigned_at - one.requested_at).total_seconds())
        return [WaitedRow(pool, day, sum(found) / len(found)) for (pool, day), found in sorted(waited.items())]

    async def job_named(self, text: str) -> str:
        number = experiment_number(text)
        return next((one.job_id for one in self.tables.all(EXPERIMENTS) if one.id == number), text)

    def _ranked(self, orders: PoolOrders) -> list[JobRow]:
        """All jobs, pool by pool, those that are scheduled first, and by the keys of the order."""
        queue: dict[tuple[str, bool], list[JobRow]] = {}
        for row in self._by_keys(orders):
            queue.setdefault((row.pool, row.requested > 0), []).append(row)
        placed = [row for rows in queue.values() for row in _with_places(rows)]
        places = {(row.job_id, row.pool): row for row in placed}
        keyed = [places[row.job_id, row.pool] for row in self._by_keys(orders)]
        return sorted(keyed, key=lambda row: (row.pool, not row.standing.scheduled))

    def _by_keys(self, orders: PoolOrders) -> list[JobRow]:
        rows = [self._row(live) for live in live_jobs(self.tables)]
        held: defaultdict[tuple[str, str], int] = defaultdict(int)
        for row in rows:
            held[row.pool, row.owner] += row.allocated
        places = {(job.job_id, job.pool): job.place for job in self.tables.all(JOBS)}

        def keys(row: JobRow) -> tuple[object, ...]:
            rank = row.priority if not row.requested or row.pool in orders.by_priority else 0
            share = _share(row, held[row.pool, row.owner], orders) if row.requested else 0
            return share, rank, places[row.job_id, row.pool], row.job_id

        return sorted((row for row in rows if (row.job_id, row.pool) in places), key=keys)

    def _row(self, live: Sequence[Allocation]) -> JobRow:
        latest = latest_of(live)
        holding = [one for one in live if one.state != AllocationState.QUEUED]
        numbers = [one.experiment_id for one in live if one.experiment_id is not None]
        owner = min(one.owner for one in live)
        experiment = self._experiment(min(numbers)) if numbers else None
        return JobRow(
            job_id=latest.job_id,
            pool=latest.pool,
            name=experiment.name if experiment is not None else min(one.name for one in live),
            owner=owner,
            owner_id=next((user.id for user in self.tables.all(USERS) if user.username == owner), None),
            workspace_id=None if experiment is None else self._workspace(experiment),
            kind=min(one.task_type for one in live),
            experiment_id=min(numbers) if numbers else None,
            task_id=min(one.task_id for one in live),
            submitted_at=experiment.started_at if experiment is not None else min(one.requested_at for one in live),
            priority=latest.priority,
            weight=latest.weight,
            requested=sum(one.slots for one in live),
            allocated=sum(one.slots for one in holding),
            standing=Standing(scheduled=bool(holding), ahead=0),
            progress=None if experiment is None else self._progress(experiment),
        )

    def _experiment(self, experiment_id: int) -> Experiment | None:
        return self.tables.get(EXPERIMENTS, experiment_id)

    def _workspace(self, experiment: Experiment) -> int | None:
        project = self.tables.get(PROJECTS, experiment.project_id)
        return None if project is None else project.workspace_id

    def _progress(self, experiment: Experiment) -> Progress:
        standing = self.tables.get(STANDINGS, experiment.id)
        config = self.tables.get(CONFIGS, experiment.id)
        trials = [trial.id for trial in self.tables.all(TRIALS) if trial.experiment_id == experiment.id]
        reported = [self.progress[trial_id] for trial_id in trials if trial_id in self.progress]
        most = None if config is None else config.config.get("searcher", {}).get("max_trials")
        return Progress(
            state=experiment.state,
            of_search=experiment.search_progress,
            of_trials=sum(reported) if reported else None,
            trials=0 if standing is None else standing.trials,
            max_trials=None if most is None else str(most),
        )


def live_jobs(tables: CachedRows) -> Iterable[Sequence[Allocation]]:
    """The allocations of each job that have not ended, by job and pool."""
    found: defaultdict[tuple[str, str], list[Allocation]] = defaultdict(list)
    for one in tables.all(ALLOCATIONS):
        if one.ended_at is None:
            found[one.job_id, one.pool].append(one)
    return found.values()


def latest_of(live: Sequence[Allocation]) -> Allocation:
    return max(live, key=attrgetter("requested_at", "allocation_id"))


def _share(row: JobRow, held_by_user: int, orders: PoolOrders) -> float:
    if row.pool in orders.by_share_of_job:
        return row.allocated / row.weight
    return held_by_user if row.pool in orders.by_share_of_user else 0


def _with_places(rows: Iterable[JobRow]) -> Iterable[JobRow]:
    """Jobs of one queue in its order, each with the number of those that wait before it."""
    waiting = 0
    for row in rows:
        if row.standing.scheduled:
            yield row
        else:
            yield replace(row, standing=Standing(scheduled=False, ahead=waiting))
            waiting += 1

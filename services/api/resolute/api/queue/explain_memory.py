"""The twin of the queries about reasons: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.pools.projection import AGENTS, SLOTS
from resolute.api.queue.explain_rows import (
    NONE_AHEAD,
    AllocationRow,
    ExperimentRow,
    JobName,
    JobsAhead,
    RecordedReason,
    ShareRow,
    SlotCount,
    WaitingRow,
)
from resolute.api.queue.memory import latest_of, live_jobs
from resolute.api.queue.order import Keys
from resolute.api.queue.projection import JOBS
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation
from resolute.api.workspaces.projection import PROJECTS
from resolute.proto.queue import WaitRule


@dataclass(frozen=True)
class MemoryExplain:
    """`tables`: those of experiments, workspaces, tasks, the queue and pools."""

    tables: CachedRows

    async def experiment(self, job_id: str) -> ExperimentRow | None:
        found = (one for one in self.tables.all(EXPERIMENTS) if one.job_id == job_id)
        return next((ExperimentRow(one.id, one.state, one.reason, one.resource_pool) for one in found), None)

    async def allocations(self, job_id: str) -> Sequence[AllocationRow]:
        of_job = [one for one in self._all() if one.job_id == job_id]
        found = [one for one in of_job if one.ended_at is None] or of_job
        by_age = sorted(found, key=lambda one: (one.requested_at, one.allocation_id))
        return [_row(one) for one in sorted(by_age, key=_age)[:100]]

    async def previous(self, tasks: Sequence[str]) -> Sequence[AllocationRow]:
        ended = [one for one in self._all() if one.task_id in tasks and one.ended_at is not None]
        by_age = sorted(ended, key=lambda one: one.requested_at, reverse=True)
        first: dict[str, Allocation] = {}
        for one in sorted(by_age, key=_age):
            first.setdefault(one.task_id, one)
        return [_row(one) for _, one in sorted(first.items())]

    async def shares(self, allocations: Sequence[str]) -> Sequence[ShareRow]:
        found = [one for one in self.tables.all(PLACEMENTS) if one.allocation_id in allocations]
        in_order = sorted(found, key=lambda one: (one.allocation_id, one.share))
        return [ShareRow(one.allocation_id, one.agent_id, one.slot_ids) for one in in_order]

    async def jobs_of(self, allocations: Sequence[str]) -> Mapping[str, str]:
        return {one.allocation_id: one.job_id for one in self._all() if one.allocation_id in allocations}

    async def names(self, scope: Scope, jobs: Sequence[str]) -> Sequence[JobName]:
        workspaces = {project.id: project.workspace_id for project in self.tables.all(PROJECTS)}
        experiments = {one.job_id: one for one in self.tables.all(EXPERIMENTS)}
        tasks = {one.job_id: one for one in reversed(self._all())}
        found = []
        for job_id in jobs:
            experiment = experiments.get(job_id)
            of_job = experiment if experiment is not None else tasks.get(job_id)
            if scope.covers(None if experiment is None else workspaces.get(experiment.project_id)):
                name, owner = ("", "") if of_job is None else (of_job.name, of_job.owner)
                found.append(JobName(job_id, name, owner, None if experiment is None else experiment.id))
        return found

    async def with_reasons(self, pool: str) -> Sequence[WaitingRow]:
        waiting = [one for one in self._all() if one.pool == pool and one.state == AllocationState.QUEUED]
        found = [
            WaitingRow(one.allocation_id, one.job_id, one.slots, RecordedReason.of(one.waits))
            for one in sorted(waiting, key=lambda one: (one.requested_at, one.allocation_id))
            if one.waits is not None
        ]
        return [one for one in found if one.waits.rule != WaitRule.IN_LINE]

    async def slots(self, pool: str) -> SlotCount:
        agents = {one.agent_id for one in self.tables.all(AGENTS) if one.pool == pool and one.alive and one.enabled}
        slots = [one for one in self.tables.all(SLOTS) if one.pool == pool and one.agent_id in agents and one.enabled]
        placements = [one for one in self.tables.all(PLACEMENTS) if one.state != ShareState.EXITED]
        held = {(one.agent_id, slot_id) for one in placements for slot_id in one.slot_ids}
        return SlotCount(len(slots), sum((one.agent_id, one.slot_id) not in held for one in slots))

    async def holders(self, pool: str, job_id: str | None, most: int) -> Sequence[tuple[str, int]]:
        found = [(live[0].job_id, _held(live)) for live in self._live(pool) if job_id in (None, live[0].job_id)]
        holding = [(job, slots) for job, slots in found if slots > 0]
        return sorted(holding, key=lambda one: (-one[1], one[0]))[:most]

    async def ahead(
        self, pool: str, job_id: str, keys: Keys, *, needs_slots: bool, never: Sequence[str], most: int
    ) -> JobsAhead:
        places = self._places(pool, keys)
        if job_id not in places:
            return NONE_AHEAD
        waiting = [live[0].job_id for live in self._live(pool) if _waits(live, needs_slots, never)]
        before = [job for job in waiting if job in places and places[job] < places[job_id]]
        first = sorted(before, key=lambda job: places[job])
        return JobsAhead(len(first), tuple(first[:most]))

    def _places(self, pool: str, keys: Keys) -> dict[str, tuple[object, ...]]:
        """The keys of each job in the order of the queue."""
        jobs = {live[0].job_id: live for live in self._live(pool)}
        held: defaultdict[str, int] = defaultdict(int)
        for live in jobs.values():
            held[min(one.owner for one in live)] += _held(live)
        found: dict[str, tuple[object, ...]] = {}
        for job in self.tables.all(JOBS):
            if job.pool == pool and (of_job := jobs.get(job.job_id)):
                rank = latest_of(of_job).priority if keys.priority else 0
                by_job = _held(of_job) / latest_of(of_job).weight if keys.share_of_job else 0
                share = held[min(one.owner for one in of_job)] if keys.share_of_user else by_job
                found[job.job_id] = (share, rank, job.place, job.job_id)
        return found

    def _all(self) -> list[Allocation]:
        return self.tables.all(ALLOCATIONS)

    def _live(self, pool: str) -> Iterable[Sequence[Allocation]]:
        return (live for live in live_jobs(self.tables) if live[0].pool == pool)


def _row(one: Allocation) -> AllocationRow:
    return AllocationRow(
        allocation_id=one.allocation_id,
        task_id=one.task_id,
        trial_id=one.trial_id,
        job_id=one.job_id,
        pool=one.pool,
        state=one.state,
        slots=one.slots,
        priority=one.priority,
        weight=one.weight,
        requested_at=one.requested_at,
        ended_at=one.ended_at,
        outcome=one.outcome,
        exit_code=one.exit_code,
        why=one.why,
        waits=RecordedReason.of(one.waits) if one.waits else None,
        placed=RecordedReason.of(one.placed) if one.placed else None,
        preempted=RecordedReason.of(one.preempted) if one.preempted else None,
        killed=RecordedReason.of(one.killed) if one.killed else None,
    )


def _age(one: Allocation) -> float:
    """The latest end first, and before it what has not ended."""
    return float("-inf") if one.ended_at is None else -one.ended_at.timestamp()


def _held(live: Sequence[Allocation]) -> int:
    return sum(one.slots for one in live if one.state != AllocationState.QUEUED)


def _waits(live: Sequence[Allocation], needs_slots: bool, never: Sequence[str]) -> bool:
    """Whether the job waits in its line. Of one that has just asked, no reason is recorded yet, so that it does not
    count."""
    queued = [one for one in live if one.state == AllocationState.QUEUED]
    if len(queued) == len(live) and not any(one.waits for one in queued):
        return False
    if any(one.waits and one.waits.get("rule") == WaitRule.MAX_SLOTS for one in queued):
        return False
    alike = (one for one in queued if (one.slots > 0) == needs_slots)
    return any(not never or (one.waits and one.waits.get("line", never[0]) not in never) for one in alike)

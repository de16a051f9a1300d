"""What a simulated gateway has read of the log: the read model's tables in memory, as far as running tasks ask."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from resolute.api.kernel.cache import memory_rows
from resolute.api.searches.queries import TrialTarget
from resolute.api.tasks.projection import PROJECTION, project
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS
from resolute.api.trials.lookup_queries import TrialRef
from resolute.config import SearcherConfig
from resolute.proto.experiment import (
    ExperimentContinued,
    ExperimentCreated,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
)
from resolute.proto.message import Recorded
from resolute.proto.pool import (
    AllocationExited,
    AllocationRequested,
    ResourcesExited,
)
from resolute.service import Context

T = TypeVar("T")


@dataclass(slots=True)
class Trained:
    """What is known of a trial: its targets, and its latest run."""

    max_length: int | None
    target: int | None = None
    reached: bool = False
    ended: bool = False
    allocation_id: str = ""
    run_ended: bool = False
    stop_asked: bool = False

    @property
    def finished(self) -> bool:
        most = self.max_length is not None and self.target is not None and self.target >= self.max_length
        return self.ended or self.run_ended or (self.reached and most)


@dataclass(slots=True)
class Allocated:
    allocation_id: str
    row: dict[str, Any]
    """As the tokens' table has it."""
    seen_to_end: set[str] = field(default_factory=set)
    """Its shares whose exit codes are known."""


class Reading:
    """The read model's twin in memory, as far as running tasks ask it. One incarnation: a restart reads again."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._position = 0
        self._one_at_a_time = asyncio.Lock()
        self._configs: dict[int, dict[str, Any]] = {}
        self.trials: dict[int, TrialRef] = {}
        self.by_task: dict[str, TrialRef] = {}
        self.trained: dict[int, Trained] = {}
        self.allocations: dict[str, Allocated] = {}
        self.tasks = memory_rows(PROJECTION.tables)
        """The tables of the slice `tasks`, as the gateway's own projection fills them."""

    @property
    def shown(self) -> int:
        return self._position

    async def position(self) -> int:
        return self._position

    async def handle(self, batch: Sequence[Recorded]) -> None:
        for recorded in batch:
            if recorded.position == self._position + 1:
                project(recorded, self.tasks)
                self.tasks.written()
                self._read(recorded)
                self._position = recorded.position

    async def reached(self, position: int) -> None:
        while self._position < position:
            async with self._one_at_a_time:
                await self.handle(await self._log.read_all(self._position, 500))

    async def catch_up(self) -> None:
        await self.reached(await self._log.head())

    def belief(self, found: Allocated) -> dict[str, Any]:
        """What else the tokens' table says: which run has followed the allocation, whether its trial is gone."""
        trial_id, task_id = found.row["trial_id"], found.row["task_id"]
        trained = self.trained.get(trial_id)
        latest = int(trained.allocation_id.rpartition(".")[2]) if trained and trained.allocation_id else 0
        mine = int(found.allocation_id.rpartition(".")[2])
        return {"newer_run": latest if latest > mine else None, "deleted": task_id not in self.by_task}

    def _read(self, recorded: Recorded) -> None:
        match recorded.event:
            case ExperimentCreated(experiment_id=experiment_id, config=config):
                self._configs[experiment_id] = config
            case TrialCreated(trial_id=trial_id, task_id=task_id):
                experiment_id = int(recorded.stream.partition("-")[2])
                self.trials[trial_id] = self.by_task[task_id] = self._trial(trial_id, experiment_id, task_id)
                self.trained[trial_id] = Trained(_max_length(self._configs[experiment_id]))
            case AllocationRequested() as event:
                names = ("task_id", "trial_id", "experiment_id", "owner")
                row = {**{name: getattr(event, name) for name in names}, "ended_at": None, "given_up": False, "why": ""}
                self.allocations[event.allocation_id] = Allocated(event.allocation_id, row)
            case ExperimentContinued(config=config):
                self._configs[int(recorded.stream.partition("-")[2])] = config
            case _ if recorded.category == "experiment" and hasattr(recorded.event, "trial_id"):
                self._read_trial(recorded, self.trained[recorded.event.trial_id])
            case _ if recorded.category == "pool":
                self._read_allocation(recorded)

    def _trial(self, trial_id: int, experiment_id: int, task_id: str) -> TrialRef:
        config = self._configs[experiment_id]
        searcher = SearcherConfig.of(config["searcher"])
        return TrialRef(
            trial_id,
            experiment_id,
            task_id,
            searcher.metric,
            searcher.smaller_is_better,
            config.get("checkpoint_storage") or {},
            searcher.name,
            config["searcher"].get("time_metric"),
        )

    def _read_trial(self, recorded: Recorded, one: Trained) -> None:
        match recorded.event:
            case TrialTargetSet(length=length):
                one.target, one.reached = length, False
            case TrialTargetReached():
                one.reached = True
            case TrialRunRequested(allocation_id=allocation_id):
                one.max_length = _max_length(self._configs[int(recorded.stream.partition("-")[2])])
                one.allocation_id, one.run_ended, one.stop_asked = allocation_id, False, False
            case TrialStopRequested(allocation_id=allocation_id) if allocation_id == one.allocation_id:
                one.stop_asked = True
            case TrialRunEnded():
                one.run_ended = True
            case TrialContinued():
                one.ended = False
            case TrialEnded():
                one.ended = True

    def _read_allocation(self, recorded: Recorded) -> None:
        event = recorded.event
        found = self.allocations.get(getattr(event, "allocation_id", ""))
        if found is None:
            return
        match event:
            case ResourcesExited(resources_id=resources_id, exit_code=code) if code is not None:
                found.seen_to_end.add(resources_id)
            case AllocationExited(reason=reason):
                placed = self.tasks.where(PLACEMENTS, "allocation_id", found.allocation_id)
                given_up = {placement.resources_id for placement in placed} > found.seen_to_end
                found.row |= {"ended_at": recorded.recorded_at, "given_up": given_up, "why": reason}


@dataclass(frozen=True, slots=True)
class Searches:
    """Implements `SearchQueries`."""

    read: Reading

    async def target(self, trial_id: int) -> TrialTarget | None:
        one = self.read.trained.get(trial_id)
        if one is None:
            return None
        allocation = self.read.tasks.get(ALLOCATIONS, one.allocation_id)
        return TrialTarget(
            length=one.target,
            reached=one.reached,
            finished=one.finished,
            stop_asked=one.stop_asked,
            preempting=allocation is not None and allocation.preemption_deadline_at is not None,
            allocation_id=one.allocation_id,
        )


@dataclass(frozen=True, slots=True)
class Trials:
    """Implements `TrialLookups`."""

    read: Reading

    async def trial(self, trial_id: int) -> TrialRef | None:
        return self.read.trials.get(trial_id)

    async def exists(self, trial_id: int) -> bool:
        return trial_id in self.read.trials

    async def trial_of_task(self, task_id: str) -> TrialRef | None:
        return self.read.by_task.get(task_id)


def _max_length(config: dict[str, Any]) -> int | None:
    length = config["searcher"].get("max_length")
    return None if length is None else int(next(iter(length.values())))

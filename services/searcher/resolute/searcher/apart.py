"""Which of the searcher's reactions may run at once: those about different trials (docs/decisions/0022)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from resolute.proto import streams
from resolute.proto.experiment import (
    TrialCheckpointed,
    TrialCreated,
    TrialEnded,
    TrialMetadataChanged,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.message import Recorded
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved

ONLY_TOLD = (
    TrialCreated,
    TrialRunStarted,
    TrialRunEnded,
    TrialEnded,
    TrialValidated,
    TrialCheckpointed,
    TrialMetadataChanged,
    TrialTargetReached,
)
"""Events of ours that nobody here reacts to."""
KEPT = 10_000


class Apart:
    """What an event is about: the task of a trial; None for what may concern any trial.

    Runs are known by the name of their task, some events name only the trial: so names are learned as they go by.
    """

    def __init__(self) -> None:
        self._tasks: OrderedDict[int, str] = OrderedDict()

    def __call__(self, recorded: Recorded) -> Hashable | None:
        match recorded.event:
            case TrialCreated(trial_id=trial_id, task_id=task_id):
                self._learn(trial_id, task_id)
            case AllocationStarted(allocation_id=allocation_id) | AllocationExited(allocation_id=allocation_id):
                return _task_of(allocation_id)
            case TrialRunRequested(trial_id=trial_id, allocation_id=allocation_id):
                self._learn(trial_id, _task_of(allocation_id))
                return _task_of(allocation_id)
            case JobMoved():
                return None  # it edits the configuration of a whole experiment
            case TrialStopRequested(trial_id=trial_id) | TrialTargetSet(trial_id=trial_id):
                return self._tasks.get(trial_id)
        nobody_reacts = recorded.category == streams.POOL.name or isinstance(recorded.event, ONLY_TOLD)
        return recorded.id if nobody_reacts else None

    def _learn(self, trial_id: int, task_id: str) -> None:
        self._tasks[trial_id] = task_id
        if len(self._tasks) > KEPT:
            self._tasks.popitem(last=False)


def _task_of(allocation_id: str) -> str:
    return allocation_id.rpartition(".")[0]

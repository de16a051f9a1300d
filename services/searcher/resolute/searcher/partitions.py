"""Which reactions of the searcher may run at once: those about different trials (docs/decisions/0022)."""

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

WITHOUT_REACTION = (
    TrialCreated,
    TrialRunStarted,
    TrialRunEnded,
    TrialEnded,
    TrialValidated,
    TrialCheckpointed,
    TrialMetadataChanged,
    TrialTargetReached,
)
"""Events of the searcher to which the searcher itself does not react."""
KEPT = 10_000


class TaskPartitions:
    """The partition of an event is the task of its trial; None for an event that may concern any trial.

    Some events name the task, others only the trial: so this remembers the task of each trial from earlier events.
    """

    def __init__(self) -> None:
        self._tasks: OrderedDict[int, str] = OrderedDict()

    def __call__(self, recorded: Recorded) -> Hashable | None:
        match recorded.event:
            case TrialCreated(trial_id=trial_id, task_id=task_id):
                self._remember(trial_id, task_id)
            case AllocationStarted(allocation_id=allocation_id) | AllocationExited(allocation_id=allocation_id):
                return _task_of(allocation_id)
            case TrialRunRequested(trial_id=trial_id, allocation_id=allocation_id):
                self._remember(trial_id, _task_of(allocation_id))
                return _task_of(allocation_id)
            case JobMoved():
                return None  # it edits the configuration of a whole experiment
            case TrialStopRequested(trial_id=trial_id) | TrialTargetSet(trial_id=trial_id):
                return self._tasks.get(trial_id)
        without_reaction = recorded.category == streams.POOL.name or isinstance(recorded.event, WITHOUT_REACTION)
        return recorded.id if without_reaction else None

    def _remember(self, trial_id: int, task_id: str) -> None:
        self._tasks[trial_id] = task_id
        if len(self._tasks) > KEPT:
            self._tasks.popitem(last=False)


def _task_of(allocation_id: str) -> str:
    return allocation_id.rpartition(".")[0]

"""How experiments, trials, runs, allocations and checkpoints stand and end: the words, and what each word means.

In events, in REST and in the read model these are plain text: a field's type stays `str`, so that a release reads what
a newer one wrote. Code names them by these enums. Whether a state is final, and how a stop ends, is asked here.
"""

from __future__ import annotations

from enum import StrEnum


class ExperimentState(StrEnum):
    """The state of an experiment. People and clients see these names, except for ABSENT."""

    ABSENT = "ABSENT"
    """There is no such experiment: no event of it has happened."""
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_ERROR = "STOPPING_ERROR"
    STOPPING_KILLED = "STOPPING_KILLED"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    DELETED = "DELETED"
    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"


class TrialState(StrEnum):
    """The state of a trial."""

    ABSENT = "ABSENT"
    """There is no such trial: no event of it has happened."""
    PAUSED = "PAUSED"
    """It has no run, or its run was asked to give its slots back."""
    ACTIVE = "ACTIVE"
    """It has a run, which waits for slots or trains. In the gateway's tables a trial that is PAUSED or WAITING is
    ACTIVE too: what people see of it follows from its experiment and its last run."""
    WAITING = "WAITING"
    """As PAUSED, and it has nothing to train: it has reached its target, and the search may set it a further one."""
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_KILLED = "STOPPING_KILLED"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"


class End(StrEnum):
    """How an experiment or a trial ended; also its state from then on."""

    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"


class StopAs(StrEnum):
    """As what an experiment stops: `outcome` of ExperimentStopping."""

    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    KILLED = "KILLED"
    ERROR = "ERROR"


class StopHow(StrEnum):
    """How a trial's run is stopped: `how` of TrialStopRequested."""

    PREEMPT = "preempt"
    """It is asked to write a checkpoint first."""
    KILL = "kill"
    """It ends at once."""


class AfterStop(StrEnum):
    """What follows the end of a run that was stopped: `then` of TrialStopRequested."""

    PAUSED = "PAUSED"
    """The trial goes on later."""
    WAITING = "WAITING"
    """The trial goes on if the search sets it a target beyond the one that it has reached."""
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    KILLED = "KILLED"


class AllocationOutcome(StrEnum):
    """How an allocation ended: `outcome` of AllocationExited."""

    EXITED = "exited"
    """Its processes ended by themselves; the exit code says how."""
    YIELDED = "yielded"
    """It gave its slots back because a preemption asked for them: by a clean exit after acknowledging the preemption,
    while it still waited, or by force after the deadline."""
    KILLED = "killed"
    """Somebody asked for that."""
    LOST = "lost"
    """Its host went away."""
    REFUSED = "refused"
    """No pool can ever hold it."""


class RunOutcome(StrEnum):
    """How a run of a trial ended: `outcome` of TrialRunEnded."""

    COMPLETED = "completed"
    YIELDED = "yielded"
    """It wrote a checkpoint and gave its slots back."""
    FAILED = "failed"
    """The only outcome that counts as a restart when another run follows."""
    KILLED = "killed"
    LOST = "lost"
    """Its host went away."""
    REFUSED = "refused"
    """No pool can ever hold it."""
    HOPELESS = "hopeless"
    """It could not be started, and never could."""


class EarlyExit(StrEnum):
    """Why a trial says that it ends by itself: `reason` of TrialEarlyExitReported."""

    INVALID_HP = "INVALID_HP"
    USER_REQUESTED_STOP = "USER_REQUESTED_STOP"
    MISCONFIGURED = "MISCONFIGURED"
    """It fails, and would whenever it was tried again."""


class LogPolicyAction(StrEnum):
    """What a log policy does when a line matches it."""

    CANCEL_RETRIES = "cancel_retries"
    EXCLUDE_NODE = "exclude_node"


class ShareNews(StrEnum):
    """What an agent reports of its share of an allocation: `what` of TaskReport."""

    STARTED = "started"
    EXITED = "exited"


class CheckpointState(StrEnum):
    """The state of a checkpoint, as people and clients see it."""

    ACTIVE = "ACTIVE"
    """It is announced, and its files are being written."""
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"
    DELETED = "DELETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"


# ---------------------------------------------------------------- what the states mean

RUNNING = (ExperimentState.ACTIVE, ExperimentState.PAUSED)
"""The experiment may start further runs, now or once it is activated."""

STOPPING = (
    ExperimentState.STOPPING_COMPLETED,
    ExperimentState.STOPPING_CANCELED,
    ExperimentState.STOPPING_KILLED,
    ExperimentState.STOPPING_ERROR,
)
FINISHED = (ExperimentState.COMPLETED, ExperimentState.CANCELED, ExperimentState.ERROR)
GONE = (ExperimentState.DELETING, ExperimentState.DELETE_FAILED, ExperimentState.DELETED)
"""The experiment is deleted, or its deletion has begun: nothing but a deletion is possible any more."""

WITH_FILES = (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED)
"""The checkpoint was completed, and at least some of its files are there: they can be downloaded and take up room."""

_ENDS_AS = {
    "STOPPING_COMPLETED": End.COMPLETED,
    "STOPPING_CANCELED": End.CANCELED,
    "STOPPING_KILLED": End.CANCELED,
    "STOPPING_ERROR": End.ERROR,
}


def is_finished(state: str) -> bool:
    """Whether an experiment or a trial in this state has ended. One that is deleted or being deleted has not just
    ended: ask `is_over` where that counts as well."""
    return state in tuple(End)


def is_over(state: str) -> bool:
    """Whether nothing of an experiment in this state will run, unless a person continues it."""
    return is_finished(state) or state in GONE


def is_stopping(state: str) -> bool:
    """Whether an experiment or a trial in this state ends as soon as its last run has ended."""
    return state in _ENDS_AS


def ends_as(state: str) -> End:
    """How an experiment or a trial that is stopping ends."""
    return _ENDS_AS[state]


def stopping(wanted: str) -> str:
    """The state in which an experiment or a trial is until the stop that was asked for has happened."""
    return f"STOPPING_{wanted}"


def end_of(wanted: StopAs | AfterStop) -> End:
    """How a stop ends, where nothing has to be waited for: what was killed is shown as canceled."""
    return ends_as(stopping(wanted))


def goes_on(after: str) -> bool:
    """Whether the trial may run again after the stop."""
    return after in (AfterStop.PAUSED, AfterStop.WAITING)


def has_files(state: str) -> bool:
    """Whether a checkpoint in this state has files to download."""
    return state in WITH_FILES


def run_outcome(outcome: str, exit_code: int | None, *, hopeless: bool) -> str:
    """What the end of an allocation means for the run that it was given to."""
    if hopeless:
        return RunOutcome.HOPELESS
    if outcome == AllocationOutcome.EXITED:
        return RunOutcome.COMPLETED if exit_code == 0 else RunOutcome.FAILED
    return outcome


class DeletionState(StrEnum):
    """How far the deletion of a workspace or of a project is; one that stays has none."""

    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"

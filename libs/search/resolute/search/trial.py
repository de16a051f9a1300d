"""One trial: a training run of the search with fixed hyperparameters, through as many runs as that takes.

A run is the training in one allocation. A trial has at most one run at a time. After a pause, a preemption, the loss of
a host, or a failure while restarts are left, the trial goes on from its latest checkpoint in a new run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from resolute.proto.experiment import (
    TrialCheckpointed,
    TrialCheckpointLost,
    TrialContinued,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.message import Event
from resolute.proto.states import (
    AfterStop,
    EarlyExit,
    End,
    LogPolicyAction,
    RunOutcome,
    StopHow,
    end_of,
    ends_as,
    is_stopping,
)
from resolute.proto.states import TrialState as State
from resolute.search import derive
from resolute.search.flow import Flow, loops, step, ways
from resolute.search.settings import Settings

AT_WORK = (State.PAUSED, State.ACTIVE, State.WAITING)
STOPPING = tuple(state for state in State if is_stopping(state))
OPEN = (*AT_WORK, *STOPPING)

FLOW: Flow[State] = {
    (State.ABSENT, TrialCreated): State.PAUSED,
    (State.PAUSED, TrialRunRequested): State.ACTIVE,
    (State.ACTIVE, TrialRunEnded): State.PAUSED,
    (State.ACTIVE, TrialStopRequested, AfterStop.PAUSED): State.PAUSED,
    (State.ACTIVE, TrialStopRequested, AfterStop.WAITING): State.WAITING,
    (State.PAUSED, TrialStopRequested, AfterStop.WAITING): State.WAITING,
    (State.WAITING, TrialTargetSet): State.PAUSED,
    **ways(AT_WORK, TrialStopRequested, AfterStop.COMPLETED, State.STOPPING_COMPLETED),
    **ways(AT_WORK, TrialStopRequested, AfterStop.CANCELED, State.STOPPING_CANCELED),
    **ways(AT_WORK, TrialStopRequested, AfterStop.KILLED, State.STOPPING_KILLED),
    (State.STOPPING_COMPLETED, TrialStopRequested, AfterStop.CANCELED): State.STOPPING_CANCELED,
    (State.STOPPING_COMPLETED, TrialStopRequested, AfterStop.KILLED): State.STOPPING_KILLED,
    (State.STOPPING_CANCELED, TrialStopRequested, AfterStop.KILLED): State.STOPPING_KILLED,
    **ways((State.PAUSED, State.WAITING), TrialEnded, End.COMPLETED, State.COMPLETED),
    **ways((State.PAUSED, State.WAITING), TrialEnded, End.CANCELED, State.CANCELED),
    **ways((State.PAUSED, State.WAITING), TrialEnded, End.ERROR, State.ERROR),
    (State.STOPPING_COMPLETED, TrialEnded, End.COMPLETED): State.COMPLETED,
    (State.STOPPING_CANCELED, TrialEnded, End.CANCELED): State.CANCELED,
    (State.STOPPING_KILLED, TrialEnded, End.CANCELED): State.CANCELED,
    (State.COMPLETED, TrialContinued): State.PAUSED,
    (State.CANCELED, TrialContinued): State.PAUSED,
    (State.ERROR, TrialContinued): State.PAUSED,
    **loops((State.PAUSED, State.WAITING, *STOPPING), TrialRunEnded),
    **loops((State.PAUSED, State.ACTIVE), TrialTargetSet),
    **loops(OPEN, TrialRunStarted, TrialValidated, TrialCheckpointed, TrialCheckpointLost, TrialEarlyExitReported),
    **loops((State.PAUSED, State.ACTIVE, *STOPPING), TrialTargetReached),
    **loops(OPEN, TrialLogPolicyMatched),
}


TrialEvent: TypeAlias = (
    TrialCreated
    | TrialContinued
    | TrialRunRequested
    | TrialRunStarted
    | TrialRunEnded
    | TrialStopRequested
    | TrialTargetSet
    | TrialTargetReached
    | TrialValidated
    | TrialCheckpointed
    | TrialCheckpointLost
    | TrialEarlyExitReported
    | TrialLogPolicyMatched
    | TrialEnded
)


OF_OPEN_TRIALS: tuple[type[TrialEvent], ...] = (
    *(TrialStopRequested, TrialRunStarted, TrialRunEnded, TrialEnded),
    *(TrialValidated, TrialTargetReached),
    *(TrialEarlyExitReported, TrialLogPolicyMatched),
    *(TrialCheckpointed, TrialCheckpointLost),
)
"""What may happen to a trial until it ends, also while its experiment is stopping."""


@dataclass(slots=True)
class Trial:
    """The state of one trial. Only the fold of its experiment changes it."""

    trial_id: int
    request_id: str = ""
    task_id: str = ""
    hparams: Any = None
    seed: int = 0
    state: State = State.ABSENT
    run_id: int = 0
    allocation_id: str | None = None
    """Of the live run; None when there is none."""
    pool: str = ""
    """The pool of the run; later runs may be in another one, where the experiment was moved."""
    started: bool = False
    killing: bool = False
    restarts: int = 0
    checkpoints: dict[str, int] = field(default_factory=dict)
    """Steps by uuid, of those that are whole, the oldest first; the one it was created from has none."""
    validated_steps: int = -1
    validated_metric: float | None = None
    """Of the latest validation."""
    target: int | None = None
    """How far to train in all, in the unit of `searcher.max_length`; None where the search sets no targets."""
    target_reached: bool = False
    went_far_enough: bool = False
    """The live run has reached a target: that it ends cleanly then is not the end of the trial's training."""
    early_exit: str = ""
    matched: set[str] = field(default_factory=set)
    """Log policies that lines of the latest run matched."""
    no_restart: str = ""
    """Why a failure is its last, however many restarts are left."""
    blocked_agents: tuple[str, ...] = ()
    """Where its next runs do not go."""
    archived: bool = False
    """By itself; its experiment may be archived as a whole."""
    metadata: str = ""
    """A digest of them; empty where there are none."""
    metadata_carried_over: bool = False
    """Whether they come from an earlier release, and were not changed since."""

    @property
    def checkpoint(self) -> str | None:
        """What the next run resumes from."""
        return next(reversed(self.checkpoints), None)

    def has_covered(self, length: int, settings: Settings) -> bool:
        """Whether the latest validation was at `length` or beyond. False where lengths cannot be converted to
        batches."""
        batches = settings.batches(length, self.hparams)
        return batches is not None and self.validated_steps >= batches

    @property
    def steps_completed(self) -> int:
        return self.checkpoints[self.checkpoint] if self.checkpoint else 0


def evolve(trial: Trial, event: TrialEvent) -> None:
    trial.state = step(FLOW, trial.state, event)
    match event:
        case TrialCreated():
            trial.request_id, trial.task_id = event.request_id, event.task_id
            trial.hparams, trial.seed = event.hparams, event.seed
            if event.source_checkpoint:
                trial.checkpoints[event.source_checkpoint] = 0
        case TrialRunRequested():
            assert trial.allocation_id is None, f"trial {trial.trial_id} would have two runs at once"
            trial.run_id, trial.allocation_id, trial.pool = event.run_id, event.allocation_id, event.pool
            trial.started = trial.killing = trial.went_far_enough = False
            trial.matched.clear()
        case TrialRunStarted():
            trial.started = True
        case TrialStopRequested(how=how):
            trial.killing = trial.killing or how == StopHow.KILL
        case TrialValidated(steps_completed=steps, metric=metric):
            trial.validated_steps, trial.validated_metric = steps, metric
        case TrialTargetSet(length=length):
            trial.target, trial.target_reached = length, False
        case TrialTargetReached(run_id=run_id):
            trial.target_reached = True
            trial.went_far_enough = run_id == trial.run_id
        case TrialCheckpointed():
            trial.checkpoints[event.checkpoint] = event.steps_completed
        case TrialCheckpointLost(lost=lost):
            del trial.checkpoints[lost]
        case TrialEarlyExitReported(reason=EarlyExit.MISCONFIGURED):
            trial.no_restart = trial.no_restart or "its code and its configuration do not fit, and its log says where"
        case TrialEarlyExitReported(reason=reason):
            trial.early_exit = reason
        case TrialLogPolicyMatched():
            _note_match(trial, event)
        case TrialContinued(hparams=hparams):
            trial.hparams = trial.hparams if hparams is None else hparams
            trial.restarts, trial.killing, trial.early_exit = 0, False, ""
            trial.no_restart, trial.blocked_agents = "", ()
            trial.archived = False
        case TrialRunEnded(outcome=outcome):
            trial.allocation_id = None
            trial.restarts += outcome == RunOutcome.FAILED


def _note_match(trial: Trial, match: TrialLogPolicyMatched) -> None:
    if match.run_id == trial.run_id:
        trial.matched.add(match.policy)
    match match.action:
        case LogPolicyAction.CANCEL_RETRIES:
            trial.no_restart = trial.no_restart or (
                "the trial failed and matched logs to a don't retry policy: "
                f"log policy {match.policy!r} matched the line {match.line!r}"
            )
        case LogPolicyAction.EXCLUDE_NODE if match.agent_id and match.agent_id not in trial.blocked_agents:
            trial.blocked_agents = (*trial.blocked_agents, match.agent_id)


def events_for_new_method(one: Trial, *, goes_on: bool) -> Iterator[TrialCreated | TrialEarlyExitReported | TrialEnded]:
    """The events that a new search method gets about an existing trial: its creation, and its end if it has ended."""
    yield TrialCreated(one.trial_id, one.request_id, one.task_id, one.hparams, one.seed)
    if goes_on:
        return
    if one.early_exit:
        yield TrialEarlyExitReported(one.trial_id, one.early_exit)
    yield TrialEnded(one.trial_id, one.state.name, "")


def first_run(created: TrialCreated, settings: Settings) -> TrialRunRequested:
    return TrialRunRequested(
        trial_id=created.trial_id,
        run_id=1,
        allocation_id=derive.allocation_id(created.task_id, 1),
        slots=settings.slots,
        slots_min=settings.slots_min,
        checkpoint=created.source_checkpoint,
        steps_completed=0,
        pool=settings.pool,
    )


def next_run(trial: Trial, settings: Settings) -> TrialRunRequested:
    run_id = trial.run_id + 1
    return TrialRunRequested(
        trial_id=trial.trial_id,
        run_id=run_id,
        allocation_id=derive.allocation_id(trial.task_id, run_id),
        slots=settings.slots,
        slots_min=settings.slots_min,
        checkpoint=trial.checkpoint,
        steps_completed=trial.steps_completed,
        pool=settings.pool,
        blocked_agents=trial.blocked_agents,
    )


def pause(trial: Trial, why: str) -> list[Event]:
    """End the trial's run, and let the trial go on later; nothing when it has no run."""
    return stop(trial, StopHow.PREEMPT, AfterStop.PAUSED, why)


def stop(trial: Trial, how: StopHow, then: AfterStop, why: str) -> list[Event]:
    """End the trial's run, or the trial itself when it has none; nothing when that is already under way.

    Whether the run still waits for its slots, and so has nothing to save, is known best to the scheduler: to
    preempt such a run is to withdraw it.
    """
    if trial.allocation_id is None:
        match then:
            case AfterStop.PAUSED:
                return []
            case AfterStop.WAITING:
                return [TrialStopRequested(trial.trial_id, "", how, why, then)]
        outcome = ends_as(trial.state) if is_stopping(trial.state) else end_of(then)
        return [TrialEnded(trial.trial_id, outcome, why)]
    if (trial.state, TrialStopRequested, then) not in FLOW:
        return []
    return [TrialStopRequested(trial.trial_id, trial.allocation_id, how, why, then)]


def end_after(trial: Trial, ended: TrialRunEnded, max_restarts: int) -> TrialEnded | None:
    """Whether the trial's run was its last one, and how the trial ends then; None when it shall run again.

    A kill or a cancellation that was asked for decides before anything the run itself says. Slots that were
    taken away, by preemption or because the host went, are not failures of the trial and are not counted.
    """
    if is_stopping(trial.state):
        return TrialEnded(trial.trial_id, ends_as(trial.state), ended.reason or "stopped as asked")
    if trial.early_exit:
        return TrialEnded(trial.trial_id, End.COMPLETED, f"it ended itself early: {trial.early_exit}")
    match ended.outcome:
        case RunOutcome.COMPLETED if _has_more_to_come(trial):
            return None
        case RunOutcome.COMPLETED:
            return TrialEnded(trial.trial_id, End.COMPLETED, "its training is complete")
        case RunOutcome.REFUSED:
            return TrialEnded(trial.trial_id, End.ERROR, f"the scheduler refused it: {ended.reason}")
        case RunOutcome.HOPELESS:
            return TrialEnded(trial.trial_id, End.ERROR, f"it could not be started, and never could: {ended.reason}")
        case RunOutcome.FAILED if trial.no_restart:
            return TrialEnded(trial.trial_id, End.ERROR, f"{_failure(ended)}; it is not restarted: {trial.no_restart}")
        case RunOutcome.FAILED if trial.restarts >= max_restarts:
            return TrialEnded(trial.trial_id, End.ERROR, f"{_failure(ended)}; max_restarts is {max_restarts}")
    return None


def _has_more_to_come(trial: Trial) -> bool:
    """A run that knew the target it began with trains to that and ends, whatever it was to be asked for next."""
    return trial.state is State.WAITING or (trial.went_far_enough and not trial.target_reached)


def _failure(ended: TrialRunEnded) -> str:
    reason = f": {ended.reason}" if ended.reason else ""
    return f"run {ended.run_id} failed with exit code {ended.exit_code}{reason}"

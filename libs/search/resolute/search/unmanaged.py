"""Experiments whose trials run outside of the cluster: clients create the trials, start them and say how they end.

No scheduler places such a trial and no search method decides about it. Its process sends heartbeats to the gateway;
when they stay away, the gateway reports that, and the trial ends as ERROR. It goes on when it is started again.

An experiment is ACTIVE while one of its trials runs. When the last of them has ended, the experiment ends as the best
of them did; while a trial is only created, the experiment is PAUSED.
"""

from __future__ import annotations

from collections.abc import Iterator

from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.experiment import (
    CreateUnmanagedTrial,
    ExperimentActivated,
    ExperimentContinued,
    ExperimentEnded,
    ExperimentPaused,
    ExperimentStopping,
    ReportTrialSilent,
    SetUnmanagedTrialState,
    StartUnmanagedTrial,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
)
from resolute.proto.message import Event
from resolute.proto.states import GONE, AfterStop, End, RunOutcome, StopAs, StopHow, TrialState, is_finished
from resolute.proto.states import ExperimentState as State
from resolute.search import derive, trial
from resolute.search.experiment import Experiment
from resolute.search.trial import Trial

SETTABLE = (TrialState.ACTIVE, TrialState.PAUSED, *End)
"""What clients say of a trial."""

RUN_ENDS_AS = {End.COMPLETED: RunOutcome.COMPLETED, End.CANCELED: RunOutcome.KILLED, End.ERROR: RunOutcome.FAILED}


def create_trial(experiment: Experiment, command: CreateUnmanagedTrial, ids: Iterator[int]) -> list[Event]:
    """Nothing for a trial of this name that exists already. Raises Refused when it has other hyperparameters."""
    _check(experiment, "create a trial in")
    known = trial_named(experiment, command.name)
    if known is None:
        return [*_reopened(experiment, then_paused=True), _created(experiment, command, next(ids))]
    if known.hparams != command.hparams:
        raise refuse(
            f"change the hyperparameters of trial {known.trial_id}",
            f"{command.name!r} was created with other ones",
            "create a trial under another external id",
        )
    return []


def trial_named(experiment: Experiment, name: str) -> Trial | None:
    return experiment.by_task.get(derive.task_id(experiment.experiment_id, name))


def _created(experiment: Experiment, command: CreateUnmanagedTrial, trial_id: int) -> TrialCreated:
    return TrialCreated(
        trial_id=trial_id,
        request_id=command.name,
        task_id=derive.task_id(experiment.experiment_id, command.name),
        hparams=command.hparams,
        seed=derive.trial_seed(experiment.seed, len(experiment.trials)),
    )


def start_trial(experiment: Experiment, command: StartUnmanagedTrial) -> list[Event]:
    """A new run of the trial begins. Raises Refused for a second start that does not say that it resumes."""
    _check(experiment, "start a trial of")
    one = experiment.trial(command.trial_id)
    if one.run_id > 0 and not command.resume:
        raise Refused(f"trial {one.trial_id} has already been started; start it with resume to go on")
    return _started(experiment, one)


def _started(experiment: Experiment, one: Trial) -> list[Event]:
    run_id = one.run_id + 1
    requested = TrialRunRequested(
        trial_id=one.trial_id,
        run_id=run_id,
        allocation_id=derive.allocation_id(one.task_id, run_id),
        slots=0,
        checkpoint=one.checkpoint,
        steps_completed=one.steps_completed,
        pool="",
    )
    before = _run_over(one, RunOutcome.LOST, f"run {run_id} took its place")
    activated: list[Event] = [ExperimentActivated()] if experiment.state is State.PAUSED else _reopened(experiment)
    return [*activated, *before, *_continued(one), requested, TrialRunStarted(one.trial_id, run_id)]


def set_state(experiment: Experiment, command: SetUnmanagedTrialState) -> list[Event]:
    """The trial's own process says how it stands: active, paused, or how it ended."""
    _check(experiment, "change a trial of")
    one = experiment.trial(command.trial_id)
    match command.state:
        case TrialState.ACTIVE:
            return [] if one.allocation_id is not None else _started(experiment, one)
        case TrialState.PAUSED:
            return _paused(experiment, one)
        case End.COMPLETED | End.CANCELED | End.ERROR:
            end = End(command.state)
            return [] if one.state.value == end.value else _ended(experiment, one, end, RUN_ENDS_AS[end], _SAID[end])
    raise InvalidConfig(f"state: expected one of {', '.join(SETTABLE)}; found {command.state!r}")


_SAID = {
    End.COMPLETED: "its process reported that it is complete",
    End.CANCELED: "its process reported that it was canceled",
    End.ERROR: "its process reported an error",
}


def silent(experiment: Experiment, report: ReportTrialSilent) -> list[Event]:
    """Nothing when the run is over already, or another one has begun."""
    one = experiment.trials.get(report.trial_id)
    if not experiment.unmanaged or one is None or one.allocation_id is None or one.run_id != report.run_id:
        return []
    why = f"no heartbeat for {report.limit_s:g} seconds; the last one came at {report.last_heartbeat_at:%F %T} UTC"
    return _ended(experiment, one, End.ERROR, RunOutcome.LOST, why)


def stop(experiment: Experiment, outcome: StopAs, why: str) -> list[Event]:
    """End an experiment of which no trial runs. The cluster cannot stop processes that run outside of it: while one
    does, this has no effect."""
    if is_finished(experiment.state) or _running(experiment):
        return []
    then = AfterStop(outcome)
    ends = [e for one in experiment.open.values() for e in trial.stop(one, StopHow.KILL, then, why)]
    return [ExperimentStopping(outcome, why), *ends, ExperimentEnded(End.CANCELED, why)]


def refused(what: str, experiment: Experiment) -> Refused:
    """For what only the cluster can do to trials that it runs."""
    why = "its trials run outside of the cluster"
    return refuse(f"{what} experiment {experiment.experiment_id}", why, "stop or start their processes yourself")


def no_trial_to_kill(trial_id: int) -> NotFound:
    return NotFound(f"trial {trial_id} runs outside of the cluster: there is nothing to kill; end its process yourself")


# ---------------------------------------------------------------- what follows


def _check(experiment: Experiment, what: str) -> None:
    what = f"{what} experiment {experiment.experiment_id}"
    if not experiment.unmanaged:
        raise refuse(what, "it is managed: the cluster creates and runs its trials", "submit one with unmanaged: true")
    if experiment.state in GONE:
        raise refuse(what, f"it is {experiment.state.name}")
    if experiment.archived:
        raise refuse(what, "it is archived", "unarchive it first")


def _reopened(experiment: Experiment, *, then_paused: bool = False) -> list[Event]:
    if not is_finished(experiment.state):
        return []
    return [ExperimentContinued(experiment.config, ()), *([ExperimentPaused()] if then_paused else [])]


def _continued(one: Trial) -> list[Event]:
    return [TrialContinued(one.trial_id)] if is_finished(one.state) else []


def _run_over(one: Trial, outcome: RunOutcome, why: str) -> list[Event]:
    return [] if one.allocation_id is None else [TrialRunEnded(one.trial_id, one.run_id, outcome, None, why)]


def _running(experiment: Experiment, but: Trial | None = None) -> bool:
    return any(one.allocation_id is not None for one in experiment.open.values() if one is not but)


def _paused(experiment: Experiment, one: Trial) -> list[Event]:
    if one.allocation_id is None:
        return []
    over = _run_over(one, RunOutcome.YIELDED, "its process reported a pause")
    return [*over, *([] if _running(experiment, one) else [ExperimentPaused()])]


def _ended(experiment: Experiment, one: Trial, end: End, outcome: RunOutcome, why: str) -> list[Event]:
    over = _run_over(one, outcome, why)
    events = [*_reopened(experiment), *_continued(one), *over, TrialEnded(one.trial_id, end, why)]
    others = [other for other in experiment.open.values() if other is not one]
    if not others:
        return [*events, *_experiment_ended(experiment, one, end, why)]
    was_active = experiment.state is State.ACTIVE
    return [*events, *([ExperimentPaused()] if was_active and not _running(experiment, one) else [])]


def _experiment_ended(experiment: Experiment, last: Trial, end: End, why: str) -> list[Event]:
    ends = {end, *(other.state for other in experiment.trials.values() if other is not last)}
    best = next(best for best in (End.COMPLETED, End.ERROR, End.CANCELED) if best in ends)
    reason = f"trial {last.trial_id}, the last that was open: {why}"
    return [ExperimentStopping(StopAs(best), reason), ExperimentEnded(best, reason)]

"""Carrying out what a search method asks for: its operations become events of the experiment and its trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from resolute.config import HALVING
from resolute.proto.experiment import (
    ExperimentEnded,
    ExperimentStopping,
    SearchProgressed,
    TrialCreated,
    TrialEnded,
    TrialStopRequested,
    TrialTargetSet,
)
from resolute.proto.message import Event
from resolute.proto.states import (
    AfterStop,
    ExperimentState,
    StopAs,
    StopHow,
    TrialState,
    end_of,
    ends_as,
    is_stopping,
)
from resolute.search import concurrency, derive, trial
from resolute.search.experiment import Experiment
from resolute.search.methods import CreateTrial, Operation, SearchEvent, Shutdown, StopTrial, TrainTo, Wait
from resolute.search.methods.halving import NOTHING
from resolute.search.methods.method import Report

TrialIds = Iterator[int]
"""Fresh trial ids, as many as are asked for."""


def continue_search(experiment: Experiment, event: SearchEvent, ids: TrialIds) -> list[Event]:
    """`event`, and what follows from it for the search."""
    if experiment.unmanaged:
        return [event]
    if is_stopping(experiment.state):
        last = isinstance(event, TrialEnded) and len(experiment.open) == 1
        return [event, *([_ended(experiment)] if last else [])]
    closing = event.trial_id if isinstance(event, TrialEnded) else None
    answer = experiment.method.next(event)
    operations = answer.operations
    follows = carry_out(experiment, operations, ids, closing)
    if closing is not None and not any(isinstance(operation, Shutdown) for operation in operations):
        follows += concurrency.runs_after_end(experiment, closing)
    return [answer.event, *_progressed(experiment), *follows]


def _progressed(experiment: Experiment) -> list[Event]:
    """The progress is recorded together with the next report: what an event changes is known after it is folded."""
    now = round(experiment.method.progress(), 2)
    compares = experiment.settings.searcher.name in HALVING
    return [SearchProgressed(now)] if compares and now > experiment.progress else []


def with_decisions(experiment: Experiment, events: list[Event]) -> list[Event]:
    """The same events, of which each says what a halving search decided at it. At those about which the search was not
    asked, because the experiment is stopping or because other reports count, it decided nothing."""
    absent = experiment.state is ExperimentState.ABSENT
    if absent or experiment.unmanaged or experiment.settings.searcher.name not in HALVING:
        return events
    return [_with_decision(event) if isinstance(event, Report) else event for event in events]


def _with_decision(event: Report) -> Report:
    if event.decided is not None:
        return event
    if isinstance(event, TrialEnded):  # of which there may be thousands at once; `replace` takes three times as long
        return TrialEnded(event.trial_id, event.outcome, event.reason, NOTHING)
    return replace(event, decided=NOTHING)


def carry_out(
    experiment: Experiment, operations: Sequence[Operation], ids: TrialIds, closing: int | None = None
) -> list[Event]:
    """`closing`: the trial that ends in the same append, and so counts as ended."""
    events: list[Event] = []
    for operation in operations:
        match operation:
            case CreateTrial():
                events += _create(experiment, operation, next(ids))
            case TrainTo():
                events += _train(experiment, operation)
            case Wait():
                events += _let_wait(experiment, operation)
            case StopTrial():
                events += _stop(experiment, operation)
            case Shutdown(outcome=outcome, why=why):
                events += stop_all(experiment, StopAs(outcome), why, closing)
    return events


def stop_all(experiment: Experiment, outcome: StopAs, why: str, closing: int | None = None) -> list[Event]:
    """The experiment stops as `outcome`, with every trial that is open; it ends at once when none has a run."""
    how = StopHow.KILL if outcome is StopAs.KILLED else StopHow.PREEMPT
    then = AfterStop.CANCELED if outcome is StopAs.ERROR else AfterStop(outcome)
    still_open = [one for one in experiment.open.values() if one.trial_id != closing]
    stops = [event for one in still_open for event in trial.stop(one, how, then, why)]
    events: list[Event] = [ExperimentStopping(outcome, why), *stops]
    if sum(isinstance(event, TrialEnded) for event in stops) == len(still_open):
        events.append(ExperimentEnded(end_of(outcome), why))
    return events


def _ended(experiment: Experiment) -> ExperimentEnded:
    return ExperimentEnded(ends_as(experiment.state), experiment.reason)


def _create(experiment: Experiment, wanted: CreateTrial, trial_id: int) -> list[Event]:
    created = TrialCreated(
        trial_id=trial_id,
        request_id=wanted.request_id,
        task_id=derive.task_id(experiment.experiment_id, wanted.request_id),
        hparams=wanted.hparams,
        seed=wanted.seed,
        source_checkpoint=experiment.settings.searcher.source_checkpoint_uuid,
    )
    target = [] if wanted.target is None else [TrialTargetSet(trial_id, wanted.target)]
    at_once = experiment.state is ExperimentState.ACTIVE and not experiment.queue  # those that wait come first
    run = [trial.first_run(created, experiment.settings)] if at_once else []
    return [created, *target, *run]


def _train(experiment: Experiment, wanted: TrainTo) -> list[Event]:
    """A trial with a run gets the new target in that run; one whose run is being preempted runs again afterwards. No
    run is needed where the trial's validations already reach the target, or where the trial waits in the queue for a
    run."""
    one = experiment.open.get(wanted.trial_id)
    if one is None or is_stopping(one.state):
        return []
    target = TrialTargetSet(one.trial_id, wanted.length, wanted.why)
    idle = one.allocation_id is None and one.trial_id not in experiment.queue
    active = experiment.state is ExperimentState.ACTIVE
    if not idle or not active or one.has_covered(wanted.length, experiment.settings):
        return [target]
    return [target, trial.next_run(one, experiment.settings)]


def _let_wait(experiment: Experiment, wanted: Wait) -> list[Event]:
    one = experiment.open.get(wanted.trial_id)
    if one is None or one.state not in (TrialState.ACTIVE, TrialState.PAUSED):
        return []
    return trial.stop(one, StopHow.PREEMPT, AfterStop.WAITING, wanted.why)


def _stop(experiment: Experiment, wanted: StopTrial) -> list[Event]:
    """A trial without a run is closed by a message of its own (`CloseTrial`): its end may ask the search method again,
    and the method must have folded this event first."""
    stopped = experiment.open.get(wanted.trial_id)
    if stopped is None or is_stopping(stopped.state):
        return []
    if stopped.allocation_id is None:
        return [TrialStopRequested(stopped.trial_id, "", StopHow.KILL, wanted.why, AfterStop.COMPLETED)]
    return trial.stop(stopped, StopHow.PREEMPT, AfterStop.COMPLETED, wanted.why)

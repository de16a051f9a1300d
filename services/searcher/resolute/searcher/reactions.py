"""The requests of the searcher to other services after its own events, and the description of a run for the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resolute.proto.checkpoint import DeleteExperimentCheckpoints
from resolute.proto.errors import refuse
from resolute.proto.experiment import (
    ExperimentContinued,
    ExperimentDeletionRequested,
    ExperimentEdited,
    TrialRunRequested,
    TrialStopRequested,
)
from resolute.proto.message import Command, Event
from resolute.proto.needs import needs_of, variables_of
from resolute.proto.owners import SEARCHER
from resolute.proto.pool import ChangeJob, KillAllocation, PreemptAllocation, RequestAllocation
from resolute.proto.queue import JobSetting
from resolute.proto.states import StopHow
from resolute.proto.tasks import TaskSpec
from resolute.search.experiment import Experiment
from resolute.search.settings import QUEUE_FIELDS

TASK_TYPE = "TRIAL"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to another service. `step` distinguishes the requests of one event."""

    step: str
    command: Command


def concerns_no_other_service(event: Event) -> bool:
    """Whether `react` returns None for the event in any state of the experiment, as for a change of its name."""
    return isinstance(event, ExperimentEdited) and not event.changes.keys() & {"resource_pool", *QUEUE_FIELDS}


def react(event: Event, experiment: Experiment) -> Ask | None:
    """The request that follows from `event`. `experiment` may be newer than `event`; only its names and settings are
    used."""
    if experiment.unmanaged and not isinstance(event, ExperimentDeletionRequested):
        return None  # its trials run outside of the cluster, so the scheduler has no allocation of them
    match event:
        case TrialRunRequested():
            return Ask("request", request_allocation(event, experiment))
        case TrialStopRequested(allocation_id=""):
            return None  # there is no run; the shell closes the trial itself
        case TrialStopRequested(trial_id=trial_id, allocation_id=allocation, how=how, why=why):
            pool = experiment.trial(trial_id).pool
            kill, preempt = KillAllocation(pool, allocation, why), PreemptAllocation(pool, allocation, why)
            return Ask("kill", kill) if how == StopHow.KILL else Ask("preempt", preempt)
        case ExperimentDeletionRequested():
            storage = experiment.config.get("checkpoint_storage") or {}
            return Ask("delete", DeleteExperimentCheckpoints(experiment.experiment_id, storage))
        case ExperimentEdited(changes=changes) if "resource_pool" not in changes:
            # The newest values: an edit that is sent again after a crash must not undo a later edit in the pool.
            now = _queue_settings(experiment)
            queue = {name: now[name] for name in QUEUE_FIELDS if name in changes and name in now}
            return Ask("queue", ChangeJob(experiment.settings.pool, experiment.job_id, queue)) if queue else None
        case ExperimentEdited() | ExperimentContinued():
            return Ask("queue", ChangeJob(experiment.settings.pool, experiment.job_id, _queue_settings(experiment)))
    return None


def _queue_settings(experiment: Experiment) -> dict[str, Any]:
    """All settings of the job: the pool may have other values, from an earlier time when the job was there."""
    settings = experiment.settings
    chosen = {} if settings.priority is None else {JobSetting.PRIORITY.value: settings.priority}
    return {**chosen, JobSetting.WEIGHT.value: settings.weight, JobSetting.MAX_SLOTS.value: settings.max_slots}


def request_allocation(event: TrialRunRequested, experiment: Experiment) -> RequestAllocation:
    settings = experiment.settings
    return RequestAllocation(
        pool=event.pool,
        allocation_id=event.allocation_id,
        task_id=experiment.trial(event.trial_id).task_id,
        task_type=TASK_TYPE,
        job_id=experiment.job_id,
        name=f"Trial {event.trial_id} (Experiment {experiment.experiment_id})",
        owner=experiment.owner,
        slots=event.slots,
        slots_min=event.slots_min,
        priority=settings.priority,
        weight=settings.weight,
        max_slots=settings.max_slots,
        preemption_timeout_s=settings.preemption_timeout_s,
        experiment_id=experiment.experiment_id,
        trial_id=event.trial_id,
        single_agent=settings.single_agent,
        blocked_agents=event.blocked_agents,
        task_owner=SEARCHER.service.value,
    )


def describe(experiment: Experiment, trial_id: int, allocation_id: str) -> TaskSpec:
    """What the run needs to start now. The latest checkpoint may be newer than the request for the run.

    Raises NotFound for an unknown trial, Refused for a run that is over.
    """
    trial = experiment.trial(trial_id)
    if trial.allocation_id != allocation_id:
        raise refuse(f"describe the run {allocation_id}", f"it is over; trial is {trial.state.name}")
    return TaskSpec(
        task_id=trial.task_id,
        task_type=TASK_TYPE,
        allocation_id=allocation_id,
        experiment_id=experiment.experiment_id,
        trial_id=trial.trial_id,
        run_id=trial.run_id,
        owner=experiment.owner,
        config=experiment.config,
        hparams=trial.hparams,
        seed=trial.seed,
        steps_completed=trial.steps_completed,
        checkpoint=trial.checkpoint,
        target=trial.target,
        target_reached=trial.target_reached,
        environment=variables_of(experiment.config),
        agent_user=experiment.agent_user,
        needs=needs_of(experiment.config),
    )

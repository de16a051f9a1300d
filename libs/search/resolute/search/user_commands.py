"""The commands of users about an experiment: create, pause, activate, cancel, kill, archive, edit, move, delete."""

from __future__ import annotations

from functools import reduce

from resolute.config import HALVING
from resolute.proto.errors import Refused, refuse
from resolute.proto.experiment import (
    CreateExperiment,
    ExperimentActivated,
    ExperimentArchived,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentUnarchived,
    SearchBracket,
)
from resolute.proto.message import Event, Object
from resolute.proto.pool import JobMoved
from resolute.proto.queue import JobSetting
from resolute.proto.states import GONE, RUNNING, StopAs, TrialState, is_finished, is_stopping
from resolute.proto.states import ExperimentState as State
from resolute.search import concurrency, derive, trial, unmanaged
from resolute.search.experiment import Experiment, evolve
from resolute.search.methods.brackets import divide
from resolute.search.operations import TrialIds, carry_out, stop_all
from resolute.search.settings import Settings, check_edits


def create(command: CreateExperiment, experiment_id: int, ids: TrialIds) -> list[Event]:
    """Raises InvalidConfig for a search method that is not offered."""
    events: list[Event] = [_created(command, experiment_id)]
    if command.activate and not command.unmanaged:
        events.append(ExperimentActivated())
    if command.unmanaged:  # its trials are created and run outside of the cluster, and reported to it
        return events
    scratch = reduce(evolve, events, Experiment())
    return events + carry_out(scratch, scratch.method.start(), ids)


def _created(command: CreateExperiment, experiment_id: int) -> ExperimentCreated:
    return ExperimentCreated(
        experiment_id=experiment_id,
        job_id=derive.job_id(experiment_id, command.seed),
        name=command.name,
        config=command.config,
        original_config=command.original_config,
        owner_id=command.owner_id,
        owner=command.owner,
        project_id=command.project_id,
        seed=command.seed,
        model_definition=command.model_definition,
        parent_id=command.parent_id,
        unmanaged=command.unmanaged,
        external_id=command.external_id,
        agent_user=command.agent_user,
        brackets=_brackets(command.config),
    )


def _brackets(config: Object) -> tuple[SearchBracket, ...] | None:
    searcher = Settings.of(config).searcher
    return divide(searcher) if searcher.name in HALVING else None


def pause(experiment: Experiment) -> list[Event]:
    if experiment.unmanaged:
        raise unmanaged.refused("pause", experiment)
    match experiment.state:
        case State.ACTIVE:
            why = "user requested pause"
            stops = [e for one in experiment.open.values() for e in trial.pause(one, why)]
            return [ExperimentPaused(), *stops]
        case State.PAUSED:
            return []
    raise refused("pause", experiment)


def activate(experiment: Experiment) -> list[Event]:
    """A trial whose last run has not exited yet starts again when that run has."""
    if experiment.unmanaged:
        raise unmanaged.refused("activate", experiment)
    match experiment.state:
        case State.PAUSED:
            idle = (one for one in experiment.open.values() if one.trial_id not in experiment.queue)
            again = [one for one in idle if one.state is TrialState.PAUSED and not one.allocation_id]
            runs = [trial.next_run(one, experiment.settings) for one in again]
            return [
                ExperimentActivated(),
                *runs,
                *concurrency.next_runs(experiment, concurrency.free_places(experiment)),
            ]
        case State.ACTIVE:
            return []
    raise refused("activate", experiment)


def cancel(experiment: Experiment) -> list[Event]:
    """Has no effect on an experiment that has ended, or is already being canceled or killed."""
    if experiment.unmanaged and experiment.state not in GONE:
        return unmanaged.stop(experiment, StopAs.CANCELED, "it was canceled")
    match experiment.state:
        case State.ACTIVE | State.PAUSED | State.STOPPING_COMPLETED | State.STOPPING_ERROR:
            return stop_all(experiment, StopAs.CANCELED, "it was canceled")
        case state if is_stopping(state) or is_finished(state):
            return []
    raise refused("cancel", experiment)


def kill(experiment: Experiment) -> list[Event]:
    if experiment.unmanaged and experiment.state not in GONE:
        return unmanaged.stop(experiment, StopAs.KILLED, "it was killed")
    match experiment.state:
        case State.STOPPING_KILLED:
            return []
        case state if is_finished(state):
            return []
        case state if state in RUNNING or is_stopping(state):
            return stop_all(experiment, StopAs.KILLED, "it was killed")
    raise refused("kill", experiment)


def archive(experiment: Experiment) -> list[Event]:
    if not is_finished(experiment.state):
        raise refused("archive", experiment, "wait until it has ended, or cancel it")
    return [] if experiment.archived else [ExperimentArchived()]


def unarchive(experiment: Experiment) -> list[Event]:
    if not is_finished(experiment.state):
        raise refused("unarchive", experiment)
    return [ExperimentUnarchived()] if experiment.archived else []


def delete(experiment: Experiment) -> list[Event]:
    match experiment.state:
        case State.DELETING | State.DELETED:
            return []
        case state if is_finished(state) or state is State.DELETE_FAILED:
            return [ExperimentDeletionRequested()]
    raise refused("delete", experiment, "wait until it has ended, or cancel it first")


def confirm_deleted(experiment: Experiment) -> list[Event]:
    return [ExperimentDeleted()] if experiment.state is State.DELETING else []


def deletion_failed(experiment: Experiment, reason: str) -> list[Event]:
    return [ExperimentDeletionFailed(reason)] if experiment.state is State.DELETING else []


def edit(experiment: Experiment, changes: Object) -> list[Event]:
    """Raises InvalidConfig, naming the field, for a change that cannot be made."""
    if experiment.state in GONE:
        raise refused("edit", experiment)
    check_edits(changes)
    return [ExperimentEdited(changes), *_leaving(experiment, changes.get("resource_pool"))] if changes else []


def adopt_priority(experiment: Experiment, moved: JobMoved) -> list[Event]:
    """The job was moved in its pool's queue, and has the priority of its neighbour: the configuration says so too.

    The move may have been recorded a while ago, or be handled for a second time. Where the configuration has another
    priority than the job had before the move, somebody has edited it since: that counts, and the queue follows it.
    """
    configured = experiment.settings.priority
    if experiment.state in (State.ABSENT, *GONE) or configured == moved.priority:
        return []
    if moved.priority_before is not None and configured not in (None, moved.priority_before):
        return []
    return edit(experiment, {JobSetting.PRIORITY.value: moved.priority})


def add_label(experiment: Experiment, label: str) -> list[Event]:
    """Afterwards the labels are in alphabetical order."""
    return _relabel(experiment, sorted({*experiment.labels, label}))


def remove_label(experiment: Experiment, label: str) -> list[Event]:
    return _relabel(experiment, [known for known in experiment.labels if known != label])


def _relabel(experiment: Experiment, labels: list[str]) -> list[Event]:
    return edit(experiment, {"labels": labels}) if labels != experiment.labels else []


def _leaving(experiment: Experiment, pool: str | None) -> list[Event]:
    """Preempts the runs in another pool; a request that still waits there is withdrawn. The next run of each trial is
    requested in `pool` when the old allocation has exited, so that a trial never has two allocations."""
    if pool is None or experiment.state is not State.ACTIVE or experiment.unmanaged:
        return []
    elsewhere = (one for one in experiment.open.values() if one.allocation_id and one.pool != pool)
    return [e for one in elsewhere for e in trial.pause(one, f"it moves to pool {pool}")]


def move(experiment: Experiment, project_id: int) -> list[Event]:
    if experiment.state in GONE:
        raise refused("move", experiment)
    return [] if project_id == experiment.project_id else [ExperimentMoved(project_id)]


def refused(what: str, experiment: Experiment, try_this: str = "") -> Refused:
    """A refusal that names the state."""
    return refuse(f"{what} experiment {experiment.experiment_id}", f"it is {experiment.state.name}", try_this)

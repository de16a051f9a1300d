"""`decide` of experiments: commands, facts of other services, and the messages that the searcher sends itself."""

from __future__ import annotations

from typing import TypeAlias

from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested, CheckpointFilesRemoved
from resolute.proto.errors import NotFound
from resolute.proto.experiment import (
    ActivateExperiment,
    AddLabel,
    ArchiveExperiment,
    ArchiveTrial,
    CancelExperiment,
    ChangeTrialMetadata,
    CompleteOperation,
    ConfirmDeleted,
    ContinueExperiment,
    CreateUnmanagedTrial,
    DeleteExperiment,
    EditExperiment,
    KillExperiment,
    KillTrial,
    MoveExperiment,
    PauseExperiment,
    PostOperations,
    RecordLogRemoved,
    RemoveLabel,
    ReportEarlyExit,
    ReportLogPolicyMatch,
    ReportTrialSilent,
    ReportValidation,
    SearcherCommand,
    SetTrialLogRetention,
    SetUnmanagedTrialState,
    StartUnmanagedTrial,
    UnarchiveExperiment,
    UnarchiveTrial,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.states import ExperimentState
from resolute.search import (
    continuing,
    reports,
    trial_archive,
    trial_logs,
    trial_metadata,
    unmanaged,
    user_commands,
)
from resolute.search.experiment import Experiment
from resolute.search.operations import TrialIds, with_decisions
from resolute.search.reports import CloseTrial, CoverTarget

Notification: TypeAlias = (
    AllocationStarted
    | AllocationExited
    | CheckpointCompleted
    | CheckpointDeletionRequested
    | CheckpointFilesRemoved
    | JobMoved
    | CloseTrial
    | CoverTarget
)
"""Messages that are no commands: facts of other services, and messages of the searcher to itself."""


def decide(message: SearcherCommand | Notification, experiment: Experiment, ids: TrialIds) -> list[Event]:
    """The events that follow when `message` reaches `experiment`, which is only read.

    Raises NotFound for an unknown experiment or trial, Refused where the state does not allow it.
    """
    return with_decisions(experiment, _decide(message, experiment, ids))


def _decide(message: SearcherCommand | Notification, experiment: Experiment, ids: TrialIds) -> list[Event]:
    if isinstance(message, Notification):
        return _on_notification(message, experiment, ids)
    late = isinstance(message, ConfirmDeleted | DeleteExperiment) and experiment.state is ExperimentState.DELETED
    if experiment.state in (ExperimentState.ABSENT, ExperimentState.DELETED) and not late:
        raise NotFound(f"no experiment {getattr(message, 'experiment_id', '')}")
    match message:
        case ReportValidation():
            return reports.validated(experiment, message, ids)
        case CompleteOperation():
            return reports.operation_completed(experiment, message, ids)
        case PostOperations():
            return reports.operations_posted(experiment, message, ids)
        case ReportEarlyExit():
            return reports.early_exit(experiment, message, ids)
        case ReportLogPolicyMatch():
            return reports.log_policy_matched(experiment, message)
        case KillTrial():
            return reports.kill_trial(experiment, message, ids)
        case CreateUnmanagedTrial():
            return unmanaged.create_trial(experiment, message, ids)
    return _execute(message, experiment)


def _on_notification(notification: Notification, experiment: Experiment, ids: TrialIds) -> list[Event]:
    match notification:
        case AllocationStarted():
            return reports.run_started(experiment, notification)
        case AllocationExited():
            return reports.run_ended(experiment, notification, ids)
        case CheckpointCompleted():
            return reports.checkpointed(experiment, notification)
        case CheckpointDeletionRequested(uuid=uuid) | CheckpointFilesRemoved(uuid=uuid):
            return reports.checkpoint_lost(experiment, uuid)
        case JobMoved():
            return user_commands.adopt_priority(experiment, notification)
        case CloseTrial():
            return reports.close_trial(experiment, notification, ids)
        case CoverTarget():
            return reports.cover_target(experiment, notification, ids)


def _execute(command: SearcherCommand, experiment: Experiment) -> list[Event]:
    match command:
        case PauseExperiment():
            return user_commands.pause(experiment)
        case ActivateExperiment():
            return user_commands.activate(experiment)
        case CancelExperiment():
            return user_commands.cancel(experiment)
        case KillExperiment():
            return user_commands.kill(experiment)
        case ContinueExperiment():
            return continuing.continue_experiment(experiment, command)
        case ArchiveExperiment():
            return user_commands.archive(experiment)
        case UnarchiveExperiment():
            return user_commands.unarchive(experiment)
        case DeleteExperiment():
            return user_commands.delete(experiment)
        case ConfirmDeleted():
            return user_commands.confirm_deleted(experiment)
        case EditExperiment(changes=changes):
            return user_commands.edit(experiment, changes)
        case AddLabel(label=label):
            return user_commands.add_label(experiment, label)
        case RemoveLabel(label=label):
            return user_commands.remove_label(experiment, label)
        case MoveExperiment(project_id=project_id):
            return user_commands.move(experiment, project_id)
        case ArchiveTrial():
            return trial_archive.archive(experiment, command)
        case UnarchiveTrial():
            return trial_archive.unarchive(experiment, command)
        case SetTrialLogRetention():
            return trial_logs.set_retention(experiment, command)
        case ChangeTrialMetadata(trial_id=trial_id):
            return trial_metadata.change(experiment.trial(trial_id), command)
        case StartUnmanagedTrial():
            return unmanaged.start_trial(experiment, command)
        case SetUnmanagedTrialState():
            return unmanaged.set_state(experiment, command)
        case ReportTrialSilent():
            return unmanaged.silent(experiment, command)
        case RecordLogRemoved():
            return trial_logs.removed(experiment, command)
    raise NotFound(f"the searcher does not decide {type(command).__name__}")

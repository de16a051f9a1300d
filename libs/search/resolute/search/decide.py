"""One door for every message that an existing experiment decides on: commands, facts of other services, own notes."""

from __future__ import annotations

from typing import TypeAlias

from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested, CheckpointFilesRemoved
from resolute.proto.errors import NotFound
from resolute.proto.experiment import (
    ActivateExperiment,
    AddLabel,
    ArchiveExperiment,
    CancelExperiment,
    ChangeTrialMetadata,
    CompleteOperation,
    ConfirmDeleted,
    ContinueExperiment,
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
    ReportValidation,
    SearcherCommand,
    SetTrialLogRetention,
    UnarchiveExperiment,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.states import ExperimentState
from resolute.search import chapters, reports, trial_logs, trial_metadata, wishes
from resolute.search.experiment import Experiment
from resolute.search.operations import TrialIds, with_decisions
from resolute.search.reports import CloseTrial, CoverTarget

News: TypeAlias = (
    AllocationStarted
    | AllocationExited
    | CheckpointCompleted
    | CheckpointDeletionRequested
    | CheckpointFilesRemoved
    | JobMoved
    | CloseTrial
    | CoverTarget
)
"""What is not asked of the experiment but told to it."""


def decide(message: SearcherCommand | News, experiment: Experiment, ids: TrialIds) -> list[Event]:
    """What happens when `message` reaches `experiment`, which is only read.

    Raises NotFound for an unknown experiment or trial, Refused where the state does not allow it.
    """
    return with_decisions(experiment, _decide(message, experiment, ids))


def _decide(message: SearcherCommand | News, experiment: Experiment, ids: TrialIds) -> list[Event]:
    if isinstance(message, News):
        return _hear(message, experiment, ids)
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
    return _grant(message, experiment)


def _hear(news: News, experiment: Experiment, ids: TrialIds) -> list[Event]:
    match news:
        case AllocationStarted():
            return reports.run_started(experiment, news)
        case AllocationExited():
            return reports.run_ended(experiment, news, ids)
        case CheckpointCompleted():
            return reports.checkpointed(experiment, news)
        case CheckpointDeletionRequested(uuid=uuid) | CheckpointFilesRemoved(uuid=uuid):
            return reports.checkpoint_lost(experiment, uuid)
        case JobMoved(priority=priority):
            return wishes.adopt_priority(experiment, priority)
        case CloseTrial():
            return reports.close_trial(experiment, news, ids)
        case CoverTarget():
            return reports.cover_target(experiment, news, ids)


def _grant(wish: SearcherCommand, experiment: Experiment) -> list[Event]:
    match wish:
        case PauseExperiment():
            return wishes.pause(experiment)
        case ActivateExperiment():
            return wishes.activate(experiment)
        case CancelExperiment():
            return wishes.cancel(experiment)
        case KillExperiment():
            return wishes.kill(experiment)
        case ContinueExperiment():
            return chapters.proceed(experiment, wish)
        case ArchiveExperiment():
            return wishes.archive(experiment)
        case UnarchiveExperiment():
            return wishes.unarchive(experiment)
        case DeleteExperiment():
            return wishes.delete(experiment)
        case ConfirmDeleted():
            return wishes.confirm_deleted(experiment)
        case EditExperiment(changes=changes):
            return wishes.edit(experiment, changes)
        case AddLabel(label=label):
            return wishes.add_label(experiment, label)
        case RemoveLabel(label=label):
            return wishes.remove_label(experiment, label)
        case MoveExperiment(project_id=project_id):
            return wishes.move(experiment, project_id)
        case SetTrialLogRetention():
            return trial_logs.set_retention(experiment, wish)
        case ChangeTrialMetadata(trial_id=trial_id):
            return trial_metadata.change(experiment.trial(trial_id), wish)
        case RecordLogRemoved():
            return trial_logs.removed(experiment, wish)
    raise NotFound(f"the searcher does not decide {type(wish).__name__}")

"""The operations about checkpoints."""

from __future__ import annotations

from resolute.api.body_kinds import CHECKPOINT_FILES
from resolute.api.checkpoints.changes import delete_checkpoints, post_metadata, remove_files
from resolute.api.checkpoints.downloads import TAR, download_checkpoint
from resolute.api.checkpoints.messages import (
    CheckpointAnswer,
    CheckpointsRemoveFiles,
    DeleteCheckpoints,
    DownloadCheckpoint,
    ExperimentCheckpointsAnswer,
    GetCheckpoint,
    GetExperimentCheckpoints,
    GetTrialCheckpoints,
    NewMetadataAnswer,
    PatchCheckpoints,
    PostCheckpointMetadata,
    ReportCheckpoint,
    TrialCheckpointsAnswer,
)
from resolute.api.checkpoints.reading import get_checkpoint, get_experiment_checkpoints, get_trial_checkpoints
from resolute.api.checkpoints.reporting import patch_checkpoints, report_checkpoint
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import download, operation
from resolute.api.routing import OWNERS, SIGNED_IN, TASK

VIEW = SIGNED_IN.to("checkpoint.view")
DELETE = OWNERS.to("checkpoint.edit").about("checkpoint", "body.checkpointUuids")

ROUTES = (
    operation(
        "GetExperimentCheckpoints",
        "GET",
        "/api/v1/experiments/{id}/checkpoints",
        get_experiment_checkpoints,
        VIEW.about("experiment", "id"),
        request=GetExperimentCheckpoints,
        response=ExperimentCheckpointsAnswer,
        tag="Experiments",
    ),
    operation(
        "GetTrialCheckpoints",
        "GET",
        "/api/v1/trials/{id}/checkpoints",
        get_trial_checkpoints,
        VIEW.about("trial", "id"),
        request=GetTrialCheckpoints,
        response=TrialCheckpointsAnswer,
        tag="Experiments",
    ),
    operation(
        "CheckpointsRemoveFiles",
        "POST",
        "/api/v1/checkpoints/rm",
        remove_files,
        DELETE,
        request=CheckpointsRemoveFiles,
        response=Empty,
        tag="Checkpoints",
    ),
    operation(
        "DeleteCheckpoints",
        "DELETE",
        "/api/v1/checkpoints",
        delete_checkpoints,
        DELETE,
        request=DeleteCheckpoints,
        response=Empty,
        tag="Checkpoints",
    ),
    operation(
        "GetCheckpoint",
        "GET",
        "/api/v1/checkpoints/{checkpointUuid}",
        get_checkpoint,
        VIEW | TASK.about("readable checkpoint", "checkpointUuid"),
        request=GetCheckpoint,
        response=CheckpointAnswer,
        tag="Checkpoints",
    ),
    operation(
        "PostCheckpointMetadata",
        "POST",
        "/api/v1/checkpoints/{checkpointUuid}/metadata",
        post_metadata,
        (TASK | OWNERS).about("checkpoint", "checkpointUuid").to("checkpoint.edit"),
        request=PostCheckpointMetadata,
        response=NewMetadataAnswer,
        tag="Checkpoints",
    ),
    download(
        "DownloadCheckpoint",
        "GET",
        "/checkpoints/{checkpointUuid}",
        download_checkpoint,
        VIEW.about("checkpoint", "checkpointUuid"),
        request=DownloadCheckpoint,
        produces=TAR,
        tag="Outside /api/v1",
    ),
    operation(
        "ReportCheckpoint",
        "POST",
        "/api/v1/checkpoints",
        report_checkpoint,
        (TASK | OWNERS)
        .to("checkpoint.create")
        .about("task", "body.taskId")
        .about("allocation", "body.allocationId", optional=True),
        request=ReportCheckpoint,
        response=Empty,
        tag="Internal",
        body=CHECKPOINT_FILES,
    ),
    operation(
        "PatchCheckpoints",
        "PATCH",
        "/api/v1/checkpoints",
        patch_checkpoints,
        (TASK | OWNERS).about("checkpoint", "body.checkpoints.uuid").to("checkpoint.edit"),
        request=PatchCheckpoints,
        response=Empty,
        tag="Internal",
        body=CHECKPOINT_FILES,
    ),
)

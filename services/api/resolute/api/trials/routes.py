"""The routes of trials: reading and killing them, and what a running trial reports."""

from __future__ import annotations

from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import OWNERS, SIGNED_IN, TASK
from resolute.api.tasks.runs import OWN_TRIAL, REPORTED_TRIAL
from resolute.api.trials import messages as m
from resolute.api.trials import outside, reading, reporting
from resolute.api.trials import outside_messages as o

API = "/api/v1"
VIEW = SIGNED_IN.to("experiment.view")
OUTSIDE = OWNERS.to("experiment.edit")
"""For trials that run outside of the cluster."""

ROUTES = (
    operation(
        "GetExperimentTrials",
        "GET",
        f"{API}/experiments/{{experimentId}}/trials",
        reading.get_experiment_trials,
        VIEW.about("experiment", "experimentId"),
        request=m.GetExperimentTrials,
        response=m.TrialsAnswer,
        tag="Trials",
    ),
    operation(
        "GetTrial",
        "GET",
        f"{API}/trials/{{trialId}}",
        reading.get_trial,
        VIEW | TASK.about("trial", "trialId"),
        request=m.GetTrial,
        response=m.TrialAnswer,
        tag="Trials",
    ),
    operation(
        "KillTrial",
        "POST",
        f"{API}/trials/{{id}}/kill",
        reading.kill_trial,
        SIGNED_IN.to("experiment.edit").about("trial", "id"),
        request=m.KillTrial,
        response=Empty,
        tag="Experiments",
    ),
    operation(
        "CreateTrial",
        "POST",
        f"{API}/trials",
        outside.create_trial,
        OUTSIDE.about("experiment", "body.experimentId"),
        request=o.CreateTrial,
        response=o.CreatedTrialAnswer,
        tag="Internal",
    ),
    operation(
        "PutTrial",
        "PUT",
        f"{API}/trials",
        outside.put_trial,
        OUTSIDE.about("experiment", "body.createTrialRequest.experimentId"),
        request=o.PutTrial,
        response=o.PutTrialAnswer,
        tag="Internal",
    ),
    operation(
        "GetTrialByExternalID",
        "GET",
        f"{API}/trials/by-external-id/{{externalExperimentId}}/{{externalTrialId}}",
        outside.get_trial_by_external_id,
        VIEW.over_scope(),
        request=o.GetTrialByExternalId,
        response=o.FoundTrialAnswer,
        tag="Internal",
    ),
    operation(
        "StartTrial",
        "POST",
        f"{API}/trials/{{trialId}}/start",
        outside.start_trial,
        OUTSIDE.about("trial", "trialId"),
        request=o.StartTrial,
        response=o.StartedTrialAnswer,
        tag="Internal",
    ),
    operation(
        "PatchTrial",
        "PATCH",
        f"{API}/trials/{{trialId}}",
        outside.patch_trial,
        OUTSIDE.about("trial", "trialId"),
        request=o.PatchTrial,
        response=o.PatchedTrialAnswer,
        tag="Internal",
    ),
    operation(
        "ReportTrialProgress",
        "POST",
        f"{API}/trials/{{trialId}}/progress",
        reporting.report_progress,
        REPORTED_TRIAL,
        request=m.ReportTrialProgress,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "PostTrialRunnerMetadata",
        "POST",
        f"{API}/trials/{{trialId}}/runner/metadata",
        reporting.post_runner_metadata,
        REPORTED_TRIAL,
        request=m.PostTrialRunnerMetadata,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "ReportTrialSearcherEarlyExit",
        "POST",
        f"{API}/trials/{{trialId}}/early_exit",
        reporting.report_early_exit,
        OWN_TRIAL,
        request=m.ReportTrialSearcherEarlyExit,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "RunPrepareForReporting",
        "POST",
        f"{API}/runs/start",
        reporting.prepare_for_reporting,
        (TASK | OWNERS).about("trial", "body.runId").to("experiment.edit"),
        request=m.RunPrepareForReporting,
        response=m.RunStartAnswer,
        tag="Internal",
    ),
    operation(
        "GetRunMetadata",
        "GET",
        f"{API}/runs/{{runId}}/metadata",
        reporting.get_run_metadata,
        VIEW | TASK.about("trial", "runId"),
        request=m.GetRunMetadata,
        response=m.RunMetadataAnswer,
        tag="Internal",
    ),
    operation(
        "PostRunMetadata",
        "POST",
        f"{API}/runs/{{runId}}/metadata",
        reporting.post_run_metadata,
        (TASK | OWNERS).about("trial", "runId").to("experiment.edit"),
        request=m.PostRunMetadata,
        response=m.NewRunMetadataAnswer,
        tag="Internal",
    ),
)

"""The routes of metrics: reporting them, and reading them back."""

from __future__ import annotations

from resolute.api.body_kinds import METRICS
from resolute.api.kernel.operations import operation, stream
from resolute.api.metrics import comparing, reading, reporting
from resolute.api.metrics import messages as m
from resolute.api.routing import OWNERS, SIGNED_IN, TASK

REPORT = (TASK | OWNERS).to("experiment.edit")
READ = SIGNED_IN.to("experiment.view")
READ_MANY = READ.about("trial", "query.trialIds")
API = "/api/v1/trials"

ROUTES = (
    operation(
        "ReportTrialMetrics",
        "POST",
        f"{API}/{{metrics_trialId}}/metrics",
        reporting.report_trial_metrics,
        REPORT.about("trial", "metrics_trialId"),
        request=m.ReportTrialMetrics,
        response=m.ReportAnswer,
        tag="Internal",
        body=METRICS,
    ),
    operation(
        "ReportTrialTrainingMetrics",
        "POST",
        f"{API}/{{trainingMetrics_trialId}}/training_metrics",
        reporting.report_training_metrics,
        REPORT.about("trial", "trainingMetrics_trialId"),
        request=m.ReportTrainingMetrics,
        response=m.ReportAnswer,
        tag="Internal",
        body=METRICS,
    ),
    operation(
        "ReportTrialValidationMetrics",
        "POST",
        f"{API}/{{validationMetrics_trialId}}/validation_metrics",
        reporting.report_validation_metrics,
        REPORT.about("trial", "validationMetrics_trialId"),
        request=m.ReportValidationMetrics,
        response=m.ReportAnswer,
        tag="Internal",
        body=METRICS,
    ),
    operation(
        "ReportTrialMetricsBatch",
        "POST",
        f"{API}/{{trialId}}/metrics/batch",
        reporting.report_batch,
        REPORT.about("trial", "trialId"),
        request=m.ReportTrialMetricsBatch,
        response=m.ReportAnswer,
        tag="Internal",
        body=METRICS,
    ),
    stream(
        "GetMetrics",
        "GET",
        f"{API}/metrics/trial_metrics",
        reading.get_metrics,
        READ_MANY,
        request=m.GetMetrics,
        response=m.MetricsAnswer,
        tag="Trials",
    ),
    stream(
        "GetTrainingMetrics",
        "GET",
        f"{API}/metrics/training_metrics",
        reading.get_training_metrics,
        READ_MANY,
        request=m.GetTrainingMetrics,
        response=m.TrainingMetricsAnswer,
        tag="Trials",
    ),
    stream(
        "GetValidationMetrics",
        "GET",
        f"{API}/metrics/validation_metrics",
        reading.get_validation_metrics,
        READ_MANY,
        request=m.GetValidationMetrics,
        response=m.ValidationMetricsAnswer,
        tag="Trials",
    ),
    operation(
        "CompareTrials",
        "GET",
        f"{API}/time-series",
        comparing.compare_trials,
        READ_MANY,
        request=m.CompareTrials,
        response=m.ComparisonAnswer,
        tag="Experiments",
    ),
    operation(
        "GetTrialWorkloads",
        "GET",
        f"{API}/{{trialId}}/workloads",
        comparing.trial_workloads,
        READ.about("trial", "trialId"),
        request=m.GetTrialWorkloads,
        response=m.WorkloadsAnswer,
        tag="Trials",
    ),
)

"""The routes of logs."""

from __future__ import annotations

from resolute.api.body_kinds import LOG_LINES
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation, stream
from resolute.api.logs import keeping, master, reading, shipping
from resolute.api.logs import messages as m
from resolute.api.logs.batches import LegacyTaskLogs, PostTaskLogs
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN, TASK

SHIP = (TASK | OWNERS).to("task.edit")
READ = SIGNED_IN.to("experiment.artifacts.view")
READ_TRIAL, READ_TASK = READ.about("trial", "trialId"), READ.about("task", "taskId")

SHIPPING = (
    operation(
        "PostTaskLogs",
        "POST",
        "/api/v1/task/logs",
        shipping.post_task_logs,
        SHIP.about("task", "body.logs.taskId"),
        request=PostTaskLogs,
        response=Empty,
        tag="Internal",
        body=LOG_LINES,
    ),
    operation(
        "LegacyTaskLogs",
        "POST",
        "/task-logs",
        shipping.legacy_task_logs,
        SHIP.about("task", "body.taskId"),
        request=LegacyTaskLogs,
        response=Empty,
        tag="Outside /api/v1",
        body=LOG_LINES,
    ),
)

READING = (
    stream(
        "TrialLogs",
        "GET",
        "/api/v1/trials/{trialId}/logs",
        reading.trial_logs,
        READ_TRIAL,
        request=m.TrialLogs,
        response=m.TrialLine,
        tag="Experiments",
    ),
    stream(
        "TrialLogsFields",
        "GET",
        "/api/v1/trials/{trialId}/logs/fields",
        reading.trial_fields,
        READ_TRIAL,
        request=m.TrialFields,
        response=m.TrialFieldsAnswer,
        tag="Experiments",
    ),
    stream(
        "TaskLogs",
        "GET",
        "/api/v1/tasks/{taskId}/logs",
        reading.task_logs,
        READ_TASK,
        request=m.TaskLogs,
        response=m.TaskLine,
        tag="Jobs",
    ),
    stream(
        "TaskLogsFields",
        "GET",
        "/api/v1/tasks/{taskId}/logs/fields",
        reading.task_fields,
        READ_TASK,
        request=m.TaskFields,
        response=m.TaskFieldsAnswer,
        tag="Jobs",
    ),
    stream(
        "MasterLogs",
        "GET",
        "/api/v1/master/logs",
        master.master_logs,
        SIGNED_IN.to("cluster.logs.view").outside(),
        request=m.MasterLogs,
        response=m.MasterLogsAnswer,
        tag="Cluster",
    ),
)

KEEPING = (
    operation(
        "CleanupLogs",
        "POST",
        "/api/v1/cleanup_logs",
        keeping.clean_up_logs,
        ADMIN.to("cluster.config.edit").outside(),
        request=m.CleanUpLogs,
        response=m.CleanUpLogsAnswer,
        tag="Internal",
    ),
    operation(
        "GetTrialRemainingLogRetentionDays",
        "GET",
        "/api/v1/trials/{id}/remaining_log_retention_days",
        keeping.get_remaining_days,
        SIGNED_IN.to("experiment.view").about("trial", "id"),
        request=m.GetRemainingDays,
        response=m.RemainingDaysAnswer,
        tag="Internal",
    ),
    operation(
        "PutTrialRetainLogs",
        "PUT",
        "/api/v1/trials/{trialId}/retain_logs",
        keeping.put_trial_retain_logs,
        OWNERS.to("experiment.edit").about("trial", "trialId"),
        request=m.PutTrialRetainLogs,
        response=Empty,
        tag="Trials",
    ),
)

ROUTES = (*SHIPPING, *READING, *KEEPING)

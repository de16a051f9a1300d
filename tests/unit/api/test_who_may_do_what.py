"""Every route, walked by seven callers: a stranger, another user, the owner, an administrator, the trial's own task,
another trial's, and a monitoring system. What each may do is written here once more, apart from the table of routes."""

from __future__ import annotations

import pytest

from resolute.api import routing
from resolute.api.access import refusal
from resolute.api.routing import Access, Owned, Principal, Route, TaskClaims, Verdict, decide
from resolute.api.table import ROUTES

STRANGER = None
OWNER = Principal(2, "owner")
OTHER = Principal(3, "other")
ADMIN = Principal(1, "admin", admin=True)
OWN_TASK = Principal(2, "owner", task=TaskClaims("task-4", "task-4.1", trial_id=4, experiment_id=3))
OTHER_TASK = Principal(2, "owner", task=TaskClaims("task-5", "task-5.1", trial_id=5, experiment_id=9))
"""Of another experiment of the same owner: a task is let in for what it is, and not for whose it is."""

MONITOR = Principal(0, "metrics", monitor=True)

CALLERS = {
    "stranger": STRANGER,
    "other": OTHER,
    "owner": OWNER,
    "admin": ADMIN,
    "own task": OWN_TASK,
    "other task": OTHER_TASK,
    "monitor": MONITOR,
}

PEOPLE = {"other", "owner", "admin"}

OPEN = {
    "Info",
    "Health",
    "GetMaster",
    "GetTelemetry",
    "Login",
    "OpenAPI",
    "OpenAPI31",
    "WebRoot",
    "WebBase",
    "WebHome",
    "WebAsset",
    "WebPage",
    "WebSession",
    "WebSignIn",
    "WebSignOut",
}

SAID_BY_THE_TASK = {
    *("ReportTrialSearcherEarlyExit", "CompleteTrialSearcherValidation"),
    *("AllocationRendezvousInfo", "AllocationAllGather", "PostAllocationAcceleratorData", "AllocationReady"),
    *("NotifyContainerRunning", "MarkAllocationResourcesDaemon", "AllocationPendingPreemptionSignal"),
    *("PostAllocationProxyAddress", "AllocationWaiting", "AllocationPreemptionSignal", "AckAllocationPreemptionSignal"),
}

BY_OWNERS = {
    "DeleteTensorboardFiles",
    *("DeleteExperiment", "DeleteCheckpoints", "CheckpointsRemoveFiles", "PutExperimentRetainLogs"),
    *("ContinueExperiment", "PostSearcherOperations", "PatchWorkspace", "PutTrialRetainLogs"),
    *("DeleteModel", "DeleteModelVersion"),
    *("PutWorkspaceConfigPolicies", "DeleteWorkspaceConfigPolicies"),
    *("CreateTrial", "PutTrial", "StartTrial", "PatchTrial"),
    *("PostWebhook", "PatchWebhook", "DeleteWebhook", "TestWebhook", "GetWebhookDeliveries"),
    *("ArchiveWorkspace", "UnarchiveWorkspace", "DeleteWorkspace"),
    *("PatchProject", "ArchiveProject", "UnarchiveProject", "DeleteProject", "MoveProject"),
}

BY_OWNERS_AND_THE_TASK = {
    *("PostCheckpointMetadata", "PostRunMetadata", "PatchCheckpoints"),
    *("ReportTrialMetrics", "ReportTrialTrainingMetrics", "ReportTrialValidationMetrics", "ReportTrialMetricsBatch"),
    *("PostTaskLogs", "LegacyTaskLogs", "ReportCheckpoint", "RunPrepareForReporting"),
    *("ReportTrialProgress", "PostTrialRunnerMetadata", "PostTrialProfilerMetricsBatch"),
    "ReportTrialSourceInfo",
}
"""Owners report for trials that run outside of the cluster."""

BY_ADMINISTRATORS = {
    *("GetMasterConfig", "PatchMasterConfig", "PostUser", "PatchUsers", "CleanupLogs"),
    *("GetLogEvents", "GetLogAsides"),
    *("PostAccessToken", "PatchAccessToken"),
    *("PutGlobalConfigPolicies", "DeleteGlobalConfigPolicies"),
    *("GetClusterMessage", "SetClusterMessage", "DeleteClusterMessage"),
    *("BindRPToWorkspace", "UnbindRPFromWorkspace", "OverwriteRPWorkspaceBindings"),
    *("EnableAgent", "DisableAgent", "EnableSlot", "DisableSlot"),
    *("CreateGroup", "UpdateGroup", "DeleteGroup", "AssignMultipleGroups", "AssignRoles", "RemoveAssignments"),
}

ABOUT_A_USER = {"PatchUser", "SetUserPassword"}

SEEN_BY_THE_TASK_TOO = {
    *("GetExperiment", "GetBestSearcherValidationMetric", "GetTrial", "GetCheckpoint", "GetTask", "GetAllocation"),
    *("GetTaskContextDirectory", "GetRunMetadata", "GetCurrentTrialSearcherOperation", "PostWebhookEventData"),
    *("GetNotebook", "IdleNotebook", "GetShell"),
}

LEFT_TO_THE_HANDLER = {"EnterTask"}
"""It lets strangers to the sshd of shells, which asks for a key: tests/integration/api/test_shells.py."""

READ_BY_MONITORING_SYSTEMS = {"ProcessMetrics", "StateMetrics", "MetricsDiscovery"}

THEIRS = {
    "user": Owned("user", "2"),
    "task": Owned("task", "task-4", owner_id=2),
    "allocation": Owned("allocation", "task-4.1", owner_id=2),
    "trial": Owned("trial", "4", owner_id=2),
    "experiment": Owned("experiment", "3", owner_id=2),
    "workspace": Owned("workspace", "3", owner_id=2),
    "project": Owned("project", "3", owner_id=2),
    "model": Owned("model", "digits", owner_id=2),
    "webhook": Owned("webhook", "1", owner_id=2),
    "template": Owned("template", "small", owner_id=2),
    "command": Owned("command", "0f8fad5b", owner_id=2),
    "notebook": Owned("notebook", "task-4", owner_id=2),
    "shell": Owned("shell", "task-4", owner_id=2),
    "job": Owned("job", "3", owner_id=2),
    "checkpoint": Owned("checkpoint", "u", experiment_id=3, owner_id=2),
    "readable checkpoint": Owned("readable checkpoint", "u", experiment_id=3, owner_id=2),
}
"""What every call is about: the owner, and what is the owner's."""


def may(operation: str) -> set[str]:
    """Who is let in."""
    if operation in OPEN:
        return set(CALLERS)
    if operation in SAID_BY_THE_TASK:
        return {"own task"}
    if operation in BY_OWNERS:
        return {"owner", "admin"}
    if operation in BY_OWNERS_AND_THE_TASK:
        return {"owner", "admin", "own task"}
    if operation in BY_ADMINISTRATORS:
        return {"admin"}
    if operation in ABOUT_A_USER:
        return {"owner", "admin"}
    if operation in READ_BY_MONITORING_SYSTEMS:
        return {*PEOPLE, "monitor"}
    if operation in SEEN_BY_THE_TASK_TOO:
        return {*PEOPLE, "own task"}
    return {*PEOPLE, "stranger"} if operation in LEFT_TO_THE_HANDLER else PEOPLE


def let_in(access: Access) -> set[str]:
    return allowed_for(access, *(THEIRS[subject.kind] for subject in access.subjects))


def allowed_for(access: Access, *about: Owned) -> set[str]:
    return {name for name, caller in CALLERS.items() if decide(access, caller, about) is Verdict.ALLOWED}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_each_caller_may_do_what_this_page_says_and_nothing_else(route: Route) -> None:
    assert let_in(route.access) == may(route.operation)


def test_this_page_names_no_operation_that_is_gone() -> None:
    named = OPEN | SAID_BY_THE_TASK | BY_OWNERS | BY_OWNERS_AND_THE_TASK | BY_ADMINISTRATORS | ABOUT_A_USER
    assert (named | SEEN_BY_THE_TASK_TOO) - {route.operation for route in ROUTES} == set()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_run_that_was_given_up_and_a_task_of_a_deleted_trial_get_in_nowhere(route: Route) -> None:
    about = [THEIRS[subject.kind] for subject in route.access.subjects]
    for claims, verdict in (
        (TaskClaims("task-4", "task-4.1", 4, 3, given_up="its host was lost"), Verdict.GIVEN_UP),
        (TaskClaims("task-4", "task-4.1", 4, 3, deleted=True), Verdict.DELETED),
    ):
        expected = Verdict.ALLOWED if route.operation in OPEN else verdict
        assert decide(route.access, Principal(2, "owner", task=claims), about) is expected


def test_a_retention_policy_that_deletes_checkpoints_is_for_owners_though_a_new_name_is_for_all() -> None:
    [patch] = [route.access for route in ROUTES if route.operation == "PatchExperiment"]
    path = {"experimentId": "3"}
    assert let_in(patch.asked_by(path, {"name": "n", "checkpointStorage": None})) == PEOPLE
    assert let_in(patch.asked_by(path, {"checkpointStorage": {"saveTrialLatest": 0}})) == {"owner", "admin"}


@pytest.mark.parametrize(
    ("operation", "path", "field", "value"),
    [
        *(("PatchUser", {"userId": "2"}, field, True) for field in ("admin", "active", "remote")),
        ("PatchUser", {"userId": "2"}, "username", "another"),
        ("PatchUser", {"userId": "2"}, "agentUserGroup", {"agentUid": 0}),
        ("PostWorkspace", {}, "agentUserGroup", {}),
        ("PatchWorkspace", {"id": "3"}, "agentUserGroup", {"agentUid": 0}),
    ],
)
def test_fields_that_only_administrators_may_set_are_refused_to_all_others_by_name(
    operation: str, path: dict[str, str], field: str, value: object
) -> None:
    [access] = [route.access for route in ROUTES if route.operation == operation]
    assert let_in(access.asked_by(path, {"displayName": "n", field: None})) > {"admin"}
    asked = access.asked_by(path, {"displayName": "n", field: value})
    assert let_in(asked) == {"admin"}
    answer = refusal(Verdict.DENIED, operation, asked, OWNER).message
    assert answer == f"{field}: this user may not set it: it is for an administrator; leave it out"


def test_environment_variables_are_read_by_the_owner_administrators_and_the_experiments_own_tasks() -> None:
    experiment = THEIRS["experiment"]
    assert allowed_for(routing.READS_VARIABLES, experiment) == {"owner", "admin", "own task"}
    assert allowed_for(routing.INHERITS_SECRETS, experiment) == {"owner"}, "a fork takes them over for its owner alone"


def test_of_several_things_all_must_be_the_callers() -> None:
    [delete] = [route.access for route in ROUTES if route.operation == "DeleteCheckpoints"]
    mine, others = THEIRS["checkpoint"], Owned("checkpoint", "v", owner_id=3)
    assert decide(delete, OWNER, [mine, mine]) is Verdict.ALLOWED
    assert decide(delete, OWNER, [mine, others]) is Verdict.DENIED
    assert decide(delete, OWNER, []) is Verdict.DENIED
    assert decide(delete, OWNER, [Owned("checkpoint", "unknown")]) is Verdict.DENIED

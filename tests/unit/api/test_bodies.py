"""A request of the wrong shape is told so, by the path of the field, what was found, and what would do."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.api.kernel import reading
from resolute.api.kernel.declared import messages_of, written
from resolute.api.table import ROUTES
from resolute.proto.errors import InvalidConfig
from tests.unit.api.edge import REQUESTS, read_body, read_query


@pytest.mark.parametrize(
    ("operation", "body", "told"),
    [
        ("PostUser", {"user": "bob"}, "user: expected an object; found 'bob'"),
        ("PostUser", {"user": {"username": 5}}, "user.username: expected text; found 5"),
        ("CreateExperiment", {"modelDefinition": {"a": 1}}, "modelDefinition: expected a list"),
        ("CreateExperiment", {"modelDefinition": [{"path": []}]}, "modelDefinition[0].path: expected text"),
        (
            "CreateExperiment",
            {"modelDefinition": [{"content": "é"}]},
            "modelDefinition[0].content: expected base64",
        ),
        ("CreateExperiment", {"config": 5}, "config: expected text; found 5"),
        ("ContinueExperiment", {"id": -1}, "id: expected a whole number from 0"),
        ("MoveExperiment", {"destinationProjectId": -1}, "destinationProjectId: expected a whole number from 0"),
        ("PutExperimentsRetainLogs", {"numDays": "ten"}, "numDays: expected a whole number"),
        ("PatchExperiment", {"labels": ["a" * 256]}, "labels[0]: expected at most 255 characters; found 256"),
        (
            "PatchExperiment",
            {"checkpointStorage": {"saveTrialBest": -1}},
            "checkpointStorage.saveTrialBest: expected",
        ),
        ("CreateExperiment", {"activate": "yes"}, "activate: expected true or false; found 'yes'"),
        (
            "CreateExperiment",
            {"parentId": "three"},
            "parentId: expected a whole number from 0 to 2147483647; found 'three'",
        ),
        ("DeleteCheckpoints", {"checkpointUuids": ["a", 7]}, "checkpointUuids[1]: expected text; found 7"),
        ("PatchExperiment", {"resources": {"weight": "heavy"}}, "resources.weight: expected a number"),
        ("ActivateExperiments", {"filters": {"states": ["STATE_LOST"]}}, "filters.states[0]: expected one of"),
        ("ActivateExperiments", {"filters": {"states": [99]}}, "filters.states[0]: expected one of"),
        (
            "KillExperiments",
            {"experimentIds": [2.0**64]},
            "experimentIds[0]: expected a whole number from 1 to 2147483647",
        ),
        ("KillExperiments", {"experimentIds": [None]}, "experimentIds[0]: expected a whole number"),
        (
            "KillExperiments",
            {"experimentIds": [1] * 10_001},
            "experimentIds: expected at most 10000 elements; found 10001",
        ),
        ("PatchUsers", {"userIds": [None]}, "userIds[0]: expected a whole number"),
        ("PatchUsers", {"userIds": [True]}, "userIds[0]: expected a whole number"),
        ("PostUserSetting", {"settings": [None]}, "settings[0]: expected an object; found None"),
        ("PostTaskLogs", {"logs": [{"rankId": "x"}]}, "logs[0].rankId: expected a whole number"),
        ("PostTaskLogs", {"logs": [{"rankId": [1]}]}, "logs[0].rankId: expected a whole number"),
        ("PostTaskLogs", {"logs": [{"rankId": float("nan")}]}, "logs[0].rankId: expected a whole number"),
        ("PostTaskLogs", {"logs": 5}, "logs: expected a list; found 5"),
        ("PostTaskLogs", {"logs": [{}, 5]}, "logs[1]: expected an object; found 5"),
        ("PostTaskLogs", {"logs": [{"level": "loud"}]}, "logs[0].level: expected one of LOG_LEVEL_UNSPECIFIED"),
        ("PostTaskLogs", {"logs": [{"log": "x" * 1_048_577}]}, "logs[0].log: expected at most 1048576 characters"),
        ("LegacyTaskLogs", {}, "body: expected a list; found {}"),
        ("LegacyTaskLogs", [{"taskId": 5}], "[0].taskId: expected text; found 5"),
        ("PutTrialRetainLogs", {"numDays": 0.5}, "numDays: expected a whole number from"),
        ("PostTaskLogs", {"logs": [{"timestamp": "0001-01-01T00:00:00+14:00"}]}, "logs[0].timestamp: expected an RFC"),
        (
            "AllocationAllGather",
            {"requestUuid": "a" * 5000},
            "requestUuid: expected at most 255 characters; found 5000",
        ),
        ("AllocationAllGather", {"data": [1]}, "data: expected an object; found [1]"),
        ("AllocationAllGather", {"numPeers": -1}, "numPeers: expected a whole number from 0 to 65536; found -1"),
        (
            "PostAllocationAcceleratorData",
            {"acceleratorData": {"acceleratorUuids": ["a", 7]}},
            "acceleratorData.acceleratorUuids[1]: expected text; found 7",
        ),
        ("PostWorkspace", {"name": "a\0"}, "name: expected text without the character NUL"),
        ("PostWorkspace", {"name": "\ud800"}, "name: expected text in Unicode"),
        (
            "PostWorkspace",
            {"agentUserGroup": {"agentUid": -1}},
            "agentUserGroup.agentUid: expected a whole number from 0",
        ),
        ("PostWorkspace", {"agentUserGroup": 7}, "agentUserGroup: expected an object; found 7"),
        ("PostWorkspace", {"checkpointStorageConfig": []}, "checkpointStorageConfig: expected an object; found []"),
        ("PostWorkspace", {"clusterQuotaPairs": {"a": "b"}}, "clusterQuotaPairs.a: expected a whole number from"),
        ("PostWorkspace", {"clusterQuotaPairs": {"\0": 1}}, "clusterQuotaPairs: expected text without the character"),
        ("CheckpointsRemoveFiles", {"checkpointGlobs": ["a", "\0"]}, "checkpointGlobs[1]: expected text without the"),
        (
            "ReportCheckpoint",
            {"resources": {"a": "1.5"}},
            "resources.a: expected a whole number from -92233",
        ),
        ("ReportCheckpoint", {"state": "STATE_MOON"}, "state: expected one of STATE_UNSPECIFIED, STATE_ACTIVE"),
        ("ReportCheckpoint", {"training": {"trialId": -1}}, "training.trialId: expected a whole number from 0"),
        (
            "PostCheckpointMetadata",
            {"checkpoint": {"metadata": [1]}},
            "checkpoint.metadata: expected an object; found",
        ),
        ("PatchCheckpoints", {"checkpoints": [{"uuid": 7}]}, "checkpoints[0].uuid: expected text; found 7"),
        ("PatchWorkspace", [1], "body: expected an object; found [1]"),
        ("UpdateJobQueue", {"updates": 7}, "updates: expected a list; found 7"),
        ("UpdateJobQueue", {"updates": [{"jobId": "a", "priority": 1.5}]}, "updates[0].priority: expected a whole"),
        ("UpdateJobQueue", {"updates": [{"jobId": "x" * 256}]}, "updates[0].jobId: expected at most 255 characters"),
        ("DisableAgent", {"drain": "yes"}, "drain: expected true or false; found 'yes'"),
        ("DisableSlot", {"slotId": "x" * 256}, "slotId: expected at most 255 characters; found 256"),
        ("PostProject", {"workspaceId": "x"}, "workspaceId: expected a whole number from 0 to 2147483647; found 'x'"),
        ("GetModelDefFile", {"path": 7}, "path: expected text; found 7"),
        ("GetModelDefFile", {"path": "a" * 4097}, "path: expected at most 4096 characters; found 4097"),
        ("GetModelDefFile", {"experimentId": -1}, "experimentId: expected a whole number from 0 to 2147483647"),
        ("PreviewHPSearch", {"config": []}, "config: expected an object; found []"),
        ("PreviewHPSearch", {"seed": -1}, "seed: expected a whole number from 0 to 2147483647; found -1"),
        ("ReportTrialProgress", {"progress": float("nan")}, "progress: expected a number from 0 to 1"),
        ("ReportTrialProgress", {"progress": "half"}, "progress: expected a number; found 'half'"),
        ("PostTrialRunnerMetadata", {"state": "x" * 256}, "state: expected at most 255 characters; found 256"),
        ("ReportTrialSearcherEarlyExit", {"reason": "BORED"}, "reason: expected one of EXITED_REASON_UNSPECIFIED"),
        ("RunPrepareForReporting", {"runId": "one"}, "runId: expected a whole number from 0 to 2147483647"),
        ("PostRunMetadata", {"metadata": [1]}, "metadata: expected an object; found [1]"),
        ("CompleteTrialSearcherValidation", {"op": {"length": -1}}, "op.length: expected a whole number from 0 to"),
        ("CompleteTrialSearcherValidation", {"op": [1]}, "op: expected an object; found [1]"),
        ("PostSearcherOperations", {"searcherOperations": [7]}, "searcherOperations[0]: expected an object; found 7"),
        ("PostSearcherOperations", {"searcherOperations": [{}] * 10_001}, "searcherOperations: expected at most 10000"),
        ("PostSearcherOperations", {"triggeredByEvent": {"id": "x"}}, "triggeredByEvent.id: expected a whole number"),
        ("ReportTrialMetrics", {"group": 7}, "group: expected text; found 7"),
        ("ReportTrialMetrics", {"group": "g" * 256}, "group: expected at most 255 characters; found 256"),
        ("ReportTrialMetrics", {"group": "a\0b"}, "group: expected text without the character NUL"),
        ("ReportTrialMetrics", {"metrics": []}, "metrics: expected an object; found []"),
        ("ReportTrialMetrics", {"metrics": {"trialId": "x"}}, "metrics.trialId: expected a whole number from 0"),
        ("ReportTrialMetrics", {"metrics": {"trialRunId": True}}, "metrics.trialRunId: expected a whole number"),
        ("ReportTrialMetrics", {"metrics": {"stepsCompleted": 2**31}}, "metrics.stepsCompleted: expected a whole"),
        ("ReportTrialMetrics", {"metrics": {"reportTime": 7}}, "metrics.reportTime: expected an RFC 3339 instant"),
        ("ReportTrialMetrics", {"metrics": {"metrics": "low"}}, "metrics.metrics: expected an object; found 'low'"),
        ("ReportTrialMetrics", {"metrics": {"metrics": {"avgMetrics": []}}}, "metrics.metrics.avgMetrics: expected an"),
        (
            "ReportTrialTrainingMetrics",
            {"metrics": {"batchMetrics": [{}, 1]}},
            "metrics.batchMetrics[1]: expected an object; found 1",
        ),
        ("ReportTrialValidationMetrics", {"metrics": {"batchMetrics": 0}}, "metrics.batchMetrics: expected a list"),
        ("ReportTrialMetricsBatch", {"reports": {}}, "reports: expected a list; found {}"),
        ("ReportTrialMetricsBatch", {"reports": [{}, None]}, "reports[1]: expected an object; found None"),
        ("ReportTrialMetricsBatch", {"reports": [{"group": []}]}, "reports[0].group: expected text"),
        (
            "ReportTrialMetricsBatch",
            {"reports": [{"metrics": {"metrics": {"batchMetrics": [None]}}}]},
            "reports[0].metrics.metrics.batchMetrics[0]: expected an object; found None",
        ),
    ],
)
def test_what_is_wrong_is_named(operation: str, body: Any, told: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_body(operation, body)
    assert refused.value.message.startswith(told)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("PatchExperiment", {"id": 1, "description": None, "labels": ["a"], "unheard": {"of": 1}}),
        ("CreateExperiment", {"parentId": "3", "modelDefinition": [{"path": "a", "mtime": 17, "type": 48}]}),
        ("CreateExperiment", {"modelDefinition": None}),
        ("Logout", {"anything": 1}),
    ],
)
def test_what_clients_send_passes(operation: str, body: Any) -> None:
    read_body(operation, body)


def test_what_passes_is_of_the_declared_type_and_nothing_else_passes() -> None:
    body = {"projectId": "7", "experimentIds": [1.0, "2"], "filters": {"states": [1, "paused", "STATE_ERROR"]}, "x": 1}
    read = read_body("KillExperiments", body).body
    assert (read.project_id, read.experiment_ids) == (7, (1, 2))
    assert read.filters.states == ("STATE_ACTIVE", "STATE_PAUSED", "STATE_ERROR")
    assert reading.read(REQUESTS["GetTrial"], {"trialId": "007"}, {}).model_dump() == {"trial_id": 7}


def test_what_a_query_says_is_of_the_declared_type() -> None:
    query = {
        "states": ["ACTIVE", "", "3"],
        "limit": ["-1"],
        "unheard": ["x"],
        "experimentIdFilter.notIn": ["1", "02"],
        "experimentIdFilter.gt": [""],
    }
    read = read_query("GetExperiments", query)
    assert read.model_dump(exclude_unset=True) == {
        "states": ("STATE_ACTIVE", "STATE_STOPPING_COMPLETED"),
        "limit": -1,
        "experiment_id_filter__not_in": (1, 2),
    }


@pytest.mark.parametrize("operation", ["GetExperiments", "GetWorkspaces"])
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"limit": ["9" * 40]}, "limit: expected a whole number from -2 to 2147483647"),
        ({"limit": ["１"]}, "limit: expected a whole number"),
        ({"archived": ["perhaps"]}, "archived: expected true or false; found 'perhaps'"),
        ({"name": ["\0"]}, "name: expected text without the character NUL"),
        ({"orderBy": ["UP"]}, "orderBy: expected one of ORDER_BY_UNSPECIFIED, ORDER_BY_ASC"),
        ({"userIds": ["1"] * 1_001}, "userIds: expected at most 1000 elements"),
    ],
)
def test_what_is_wrong_with_a_query_is_named(operation: str, query: dict[str, list[str]], told: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_query(operation, query)
    assert refused.value.message.startswith(told)


OPERATIONS, MESSAGES = written(ROUTES), messages_of(ROUTES)

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["user", "id", "filters"]), inner),
    max_leaves=8,
)


@hypothesis.given(st.sampled_from(sorted(OPERATIONS)), st.dictionaries(st.text(max_size=5), DOCUMENTS))
def test_no_body_is_met_with_anything_but_a_verdict(operation: str, body: dict[str, Any]) -> None:
    body_kind = OPERATIONS[operation].get("body")
    fields = MESSAGES.get(body_kind or "", {}).get("fields", {})
    renamed = dict(zip((name.rstrip("?") for name in fields), body.values(), strict=False)) or body
    with suppress(InvalidConfig):
        read_body(operation, renamed)

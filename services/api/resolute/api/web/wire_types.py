"""The types of the API for the checker of the page: `python -m resolute.api.web.wire_types`.

They are made from the same messages as OpenAPI.
Only the messages that the page uses, and those within them, are written, to `page/app/wire.d.ts`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resolute.api import openapi31
from resolute.api.table import ROUTES

TARGET = Path(__file__).parent / "page" / "app" / "wire.d.ts"

USED = (
    "ExplainJobResponse",
    "GetLogEventsResponse",
    "GetWebhookDeliveriesResponse",
    "v1CompareTrialsResponse",
    "v1ContinueExperimentResponse",
    "v1CreateExperimentResponse",
    "v1ExpMetricNamesResponse",
    "v1GetAccessTokensResponse",
    "v1GetAgentsResponse",
    "v1GetClusterMessageResponse",
    "v1GetExperimentCheckpointsResponse",
    "v1GetExperimentResponse",
    "v1GetExperimentTrialsResponse",
    "v1GetGlobalConfigPoliciesResponse",
    "v1GetGroupResponse",
    "v1GetGroupsAndUsersAssignedToWorkspaceResponse",
    "v1GetGroupsResponse",
    "v1GetJobsV2Response",
    "v1GetMasterResponse",
    "v1GetMeResponse",
    "v1GetModelDefTreeResponse",
    "v1GetModelResponse",
    "v1GetModelVersionResponse",
    "v1GetModelVersionsResponse",
    "v1GetModelsResponse",
    "v1GetPermissionsSummaryResponse",
    "v1GetProjectResponse",
    "v1GetProjectsByUserActivityResponse",
    "v1GetResourcePoolsResponse",
    "v1GetRolesAssignedToGroupResponse",
    "v1GetRolesAssignedToUserResponse",
    "v1GetTaskResponse",
    "v1GetTemplatesResponse",
    "v1GetTrialCheckpointsResponse",
    "v1GetTrialMetricsByModelVersionResponse",
    "v1GetTrialProfilerMetricsResponse",
    "v1GetTrialResponse",
    "v1GetUserSettingResponse",
    "v1GetUsersResponse",
    "v1GetWebhooksResponse",
    "v1GetWorkspaceProjectsResponse",
    "v1GetWorkspaceResponse",
    "v1GetWorkspacesResponse",
    "v1ListRolesResponse",
    "v1PostAccessTokenResponse",
    "v1SearchExperimentsResponse",
    "v1TrialLogsFieldsResponse",
    "v1TrialLogsResponse",
    "v1TrialsSampleResponse",
    "v1TrialsSnapshotResponse",
)

Schema = Mapping[str, Any]


def written(schemas: Mapping[str, Schema]) -> str:
    """The declarations of the used messages and of all within them, by name."""
    names: set[str] = set()
    waiting = list(USED)
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += re.findall(r"#/components/schemas/(\w+)", repr(schemas[name]))
    head = "// Written by `python -m resolute.api.web.wire_types`: the messages of the API that the page uses.\n"
    return head + "".join(f"\n{_declared(name, schemas[name])}" for name in sorted(names))


def _declared(name: str, schema: Schema) -> str:
    if "enum" in schema:
        return f"export type {name} = {_type(schema)};\n"
    needed = set(schema.get("required", ()))
    fields = "".join(
        f"  {field}{'' if field in needed else '?'}: {_type(kind)};\n"
        for field, kind in schema.get("properties", {}).items()
    )
    return f"export interface {name} {{\n{fields}}}\n"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    kinds = schema.get("type", "object")
    if isinstance(kinds, list):
        return " | ".join(dict.fromkeys(_type({**schema, "type": kind}) for kind in kinds))
    if kinds == "array":
        inner = _type(schema["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if kinds == "object":
        within = schema.get("additionalProperties")
        return f"Record<string, {_type(within) if isinstance(within, Mapping) else 'any'}>"
    return {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}.get(kinds, "string")


def current() -> str:
    return written(openapi31.document(ROUTES)["components"]["schemas"])


def main() -> int:
    TARGET.write_text(current())
    return 0


if __name__ == "__main__":
    sys.exit(main())

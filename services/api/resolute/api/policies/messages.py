"""The messages about configuration policies."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import JsonObject, Needed, text
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request
from resolute.config.bounds import CONFIGURATION_BYTES_MAX

PolicyText = Annotated[str, text(CONFIGURATION_BYTES_MAX)]


class GlobalPolicies(Request):
    workload_type: InPath[Name]
    """`EXPERIMENT`, or `NTSC` for notebooks, TensorBoards, shells and commands."""


class WorkspacePolicies(Request):
    workspace_id: InPath[Id]
    workload_type: InPath[Name]
    """`EXPERIMENT`, or `NTSC` for notebooks, TensorBoards, shells and commands."""


class GlobalPoliciesAnswer(Message, wire_name="v1GetGlobalConfigPoliciesResponse"):
    config_policies: JsonObject | None
    """`invariant_config` and `constraints`; an empty object where nothing is set. Secrets are shown as ********."""


class WorkspacePoliciesAnswer(GlobalPoliciesAnswer, wire_name="v1GetWorkspaceConfigPoliciesResponse"):
    pass


class NewGlobalPolicies(Input, wire_name="v1PutGlobalConfigPoliciesRequest"):
    config_policies: Needed[PolicyText] = ""
    """YAML: an object with `invariant_config`, `constraints` or both. It takes the place of what is set."""
    workload_type: Needed[Name] = ""
    """The one in the path counts."""


class NewWorkspacePolicies(Input, wire_name="v1PutWorkspaceConfigPoliciesRequest"):
    config_policies: Needed[PolicyText] = ""
    """YAML: an object with `invariant_config`, `constraints` or both. It takes the place of what is set."""
    workload_type: Needed[Name] = ""
    """The one in the path counts."""
    workspace_id: Needed[Id] = 0
    """The one in the path counts."""


class PutGlobalPolicies(GlobalPolicies):
    body: InBody[NewGlobalPolicies]


class PutWorkspacePolicies(WorkspacePolicies):
    body: InBody[NewWorkspacePolicies]


class SetGlobalPoliciesAnswer(GlobalPoliciesAnswer, wire_name="v1PutGlobalConfigPoliciesResponse"):
    pass


class SetWorkspacePoliciesAnswer(GlobalPoliciesAnswer, wire_name="v1PutWorkspaceConfigPoliciesResponse"):
    pass

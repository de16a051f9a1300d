"""Configuration policies of the cluster and of workspaces. Submissions are held to them by `holding`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.policies import messages as m
from resolute.api.policies.holding import place_named
from resolute.api.policies.queries import QUERIES, PolicyQueries, PolicyRow
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN
from resolute.api.vault import only_variables
from resolute.config import changed, load_yaml, secrets_of
from resolute.config.policies import Policies, Policy, read_policy
from resolute.proto import policies as proto
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.policies import CLUSTER, Workload


async def get_global_policies(call: Call, request: m.GlobalPolicies) -> m.GlobalPoliciesAnswer:
    """The policies of the cluster for one kind of workload."""
    return m.GlobalPoliciesAnswer(config_policies=await _shown(call, CLUSTER, _workload(request.workload_type)))


async def put_global_policies(call: Call, request: m.PutGlobalPolicies) -> m.SetGlobalPoliciesAnswer:
    """Set the policies of the cluster for one kind of workload, in the place of those before."""
    workload = _workload(request.workload_type)
    await _set(call, CLUSTER, workload, request.body.config_policies)
    return m.SetGlobalPoliciesAnswer(config_policies=await _shown(call, CLUSTER, workload))


async def delete_global_policies(call: Call, request: m.GlobalPolicies) -> Empty:
    """Delete the policies of the cluster for one kind of workload. What was submitted keeps its configuration."""
    await _delete(call, CLUSTER, _workload(request.workload_type))
    return Empty()


async def get_workspace_policies(call: Call, request: m.WorkspacePolicies) -> m.WorkspacePoliciesAnswer:
    """The policies of a workspace for one kind of workload, without those of the cluster."""
    workload = await _within(call, request)
    return m.WorkspacePoliciesAnswer(config_policies=await _shown(call, request.workspace_id, workload))


async def put_workspace_policies(call: Call, request: m.PutWorkspacePolicies) -> m.SetWorkspacePoliciesAnswer:
    """Set the policies of a workspace for one kind of workload, in the place of those before."""
    workload = await _within(call, request)
    await _set(call, request.workspace_id, workload, request.body.config_policies)
    return m.SetWorkspacePoliciesAnswer(config_policies=await _shown(call, request.workspace_id, workload))


async def delete_workspace_policies(call: Call, request: m.WorkspacePolicies) -> Empty:
    """Delete the policies of a workspace for one kind of workload. What was submitted keeps its configuration."""
    await _delete(call, request.workspace_id, await _within(call, request))
    return Empty()


# ---------------------------------------------------------------- changes


async def _set(call: Call, workspace_id: int, workload: Workload, text: str) -> None:
    if not text.strip():
        raise InvalidConfig("configPolicies: no specified config policies; send them as YAML text")
    given = await asyncio.to_thread(load_yaml, text)
    rows = await _queries(call).policies(workload, sorted({CLUSTER, workspace_id}))
    before = next((row.invariant_config for row in rows if row.workspace_id == workspace_id), {})
    above = [Policy(place_named(row), constraints=row.constraints) for row in rows if row.workspace_id != workspace_id]
    new = await asyncio.to_thread(_read, given, workload, above)
    vault = call.gateway.vault
    opened, _ = await vault.opened(before)
    sealed = await vault.sealed(new.invariant_config, "", call.principal.user_id, dict(secrets_of(opened)))
    async with vault.unless_refused(sealed):
        await call.send(proto.SetConfigPolicies(workspace_id, workload, sealed.config, new.constraints))
    # A request that is repeated is carried out once: then the policy may still have what this call read at first.
    now = await _row(call, workspace_id, workload)
    await vault.forget_replaced(before, {} if now is None else now.invariant_config)


def _read(given: Mapping[str, Any], workload: Workload, above: list[Policy]) -> Policy:
    new = read_policy(given, "these policies", invariants=workload is Workload.EXPERIMENT)
    if not new.written():
        raise InvalidConfig("configPolicies: no specified config policies; write invariant_config or constraints")
    Policies([*above, new]).check_invariants()
    return new


async def _delete(call: Call, workspace_id: int, workload: Workload) -> None:
    row = await _row(call, workspace_id, workload)
    await call.send(proto.DeleteConfigPolicies(workspace_id, workload))
    if row is not None:
        await call.gateway.vault.forget_replaced(row.invariant_config, {})


# ---------------------------------------------------------------- answers


def _queries(call: Call) -> PolicyQueries:
    return call.gateway.ports.of(QUERIES)


def _workload(given: str) -> Workload:
    """Raises InvalidConfig."""
    if given not in set(Workload):
        raise InvalidConfig(f"workloadType: invalid workload type: {given!r}; use {' or '.join(Workload)}")
    return Workload(given)


async def _within(call: Call, request: m.WorkspacePolicies) -> Workload:
    """Raises NotFound for a workspace that is not there."""
    if not await _queries(call).has_workspace(request.workspace_id):
        raise NotFound(f"workspace {request.workspace_id} not found")
    return _workload(request.workload_type)


async def _row(call: Call, workspace_id: int, workload: Workload) -> PolicyRow | None:
    rows = await _queries(call).policies(workload, [workspace_id])
    return rows[0] if rows else None


async def _shown(call: Call, workspace_id: int, workload: Workload) -> dict[str, Any]:
    """Environment variables are shown, other secrets are masked."""
    row = await _row(call, workspace_id, workload)
    if row is None:
        return {}
    keys = await call.gateway.vault.keys(value for _, value in secrets_of(row.invariant_config))
    policy = Policy(place_named(row), row.invariant_config, row.constraints)
    return replace(policy, invariant_config=changed(row.invariant_config, only_variables(keys.opened))).written()


TAG = "Alpha"
OF_CLUSTER = "/api/v1/config-policies/global/{workloadType}"
OF_WORKSPACE = "/api/v1/config-policies/workspaces/{workspaceId}/{workloadType}"

VIEW_GLOBAL = SIGNED_IN.to("global_policy.view").outside()
EDIT_GLOBAL = ADMIN.to("global_policy.edit").outside()
VIEW = SIGNED_IN.to("policy.view").about("workspace", "workspaceId")
EDIT = OWNERS.to("policy.edit").about("workspace", "workspaceId")

ROUTES = (
    operation(
        "GetGlobalConfigPolicies",
        "GET",
        OF_CLUSTER,
        get_global_policies,
        VIEW_GLOBAL,
        request=m.GlobalPolicies,
        response=m.GlobalPoliciesAnswer,
        tag=TAG,
    ),
    operation(
        "PutGlobalConfigPolicies",
        "PUT",
        OF_CLUSTER,
        put_global_policies,
        EDIT_GLOBAL,
        request=m.PutGlobalPolicies,
        response=m.SetGlobalPoliciesAnswer,
        tag=TAG,
        body=CONFIGURATION,
    ),
    operation(
        "DeleteGlobalConfigPolicies",
        "DELETE",
        OF_CLUSTER,
        delete_global_policies,
        EDIT_GLOBAL,
        request=m.GlobalPolicies,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "GetWorkspaceConfigPolicies",
        "GET",
        OF_WORKSPACE,
        get_workspace_policies,
        VIEW,
        request=m.WorkspacePolicies,
        response=m.WorkspacePoliciesAnswer,
        tag=TAG,
    ),
    operation(
        "PutWorkspaceConfigPolicies",
        "PUT",
        OF_WORKSPACE,
        put_workspace_policies,
        EDIT,
        request=m.PutWorkspacePolicies,
        response=m.SetWorkspacePoliciesAnswer,
        tag=TAG,
        body=CONFIGURATION,
    ),
    operation(
        "DeleteWorkspaceConfigPolicies",
        "DELETE",
        OF_WORKSPACE,
        delete_workspace_policies,
        EDIT,
        request=m.WorkspacePolicies,
        response=Empty,
        tag=TAG,
    ),
)

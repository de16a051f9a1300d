"""Which pools a workspace may use. Pools are not bound to workspaces: every workspace may use every configured pool."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window, cut
from resolute.api.pools.messages import (
    AvailablePools,
    BoundWorkspaces,
    ListRPsBoundToWorkspace,
    ListWorkspacesBoundToRP,
)
from resolute.api.pools.queries import QUERIES
from resolute.api.routing import SIGNED_IN
from resolute.api.workspaces.queries import QUERIES as WORKSPACES
from resolute.proto.errors import NotFound


async def list_available_pools(call: Call, request: ListRPsBoundToWorkspace) -> AvailablePools:
    """The resource pools that a workspace may use, by name."""
    workspaces = call.gateway.ports.of(WORKSPACES)
    if await workspaces.workspace(request.workspace_id, call.principal.user_id) is None:
        raise NotFound(f"workspace {request.workspace_id} not found")
    found = cut(sorted(call.gateway.settings.pool_names), Window(request.offset, request.limit))
    return AvailablePools(resource_pools=tuple(found.rows), pagination=Pagination.of(found.page))


async def list_bound_workspaces(call: Call, request: ListWorkspacesBoundToRP) -> BoundWorkspaces:
    """The workspaces that alone may use a resource pool: none, since every workspace may use it."""
    pools = await call.gateway.ports.of(QUERIES).pools(call.gateway.settings.pool_names)
    if request.resource_pool_name not in {pool.name for pool in pools}:
        raise NotFound(f"resource pool {request.resource_pool_name} not found")
    page = Window(request.offset, request.limit).of(0)
    return BoundWorkspaces(workspace_ids=(), pagination=Pagination.of(page))


AVAILABLE = (
    operation(
        "ListRPsBoundToWorkspace",
        "GET",
        "/api/v1/workspaces/{workspaceId}/available-resource-pools",
        list_available_pools,
        SIGNED_IN.to("workspace.view").about("workspace", "workspaceId"),
        request=ListRPsBoundToWorkspace,
        response=AvailablePools,
        tag="Workspaces",
    ),
    operation(
        "ListWorkspacesBoundToRP",
        "GET",
        "/api/v1/resource-pools/{resourcePoolName}/workspace-bindings",
        list_bound_workspaces,
        SIGNED_IN.to("cluster.view").outside(),
        request=ListWorkspacesBoundToRP,
        response=BoundWorkspaces,
        tag="Internal",
    ),
)

"""Which pools a workspace may use, and the bindings that say so: a pool that is bound is for its workspaces alone."""

from __future__ import annotations

from collections.abc import Callable

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window, cut
from resolute.api.pools.fit import is_for
from resolute.api.pools.messages import (
    AvailablePools,
    BindPool,
    Bound,
    BoundWorkspaces,
    ListRPsBoundToWorkspace,
    ListWorkspacesBoundToRP,
    OverwriteBindings,
    UnbindPool,
)
from resolute.api.pools.queries import QUERIES
from resolute.api.routing import ADMIN, SIGNED_IN
from resolute.api.workspaces.messages import SortWorkspacesBy
from resolute.api.workspaces.queries import QUERIES as WORKSPACES
from resolute.api.workspaces.queries import Wanted
from resolute.proto import bindings as proto
from resolute.proto.errors import InvalidConfig, NotFound


async def list_available_pools(call: Call, request: ListRPsBoundToWorkspace) -> AvailablePools:
    """The resource pools that a workspace may use, by name."""
    workspaces = call.gateway.ports.of(WORKSPACES)
    if await workspaces.workspace(request.workspace_id, call.principal.user_id) is None:
        raise NotFound(f"workspace {request.workspace_id} not found")
    bindings = await call.gateway.ports.of(QUERIES).bindings()
    pools = (name for name in call.gateway.settings.pool_names if is_for(bindings.get(name), request.workspace_id))
    found = cut(sorted(pools), Window(request.offset, request.limit))
    return AvailablePools(resource_pools=tuple(found.rows), pagination=Pagination.of(found.page))


async def list_bound_workspaces(call: Call, request: ListWorkspacesBoundToRP) -> BoundWorkspaces:
    """The workspaces that alone may use a resource pool, as far as the caller may see them."""
    bound, visible = await _bound_to(call, request.resource_pool_name), call.scope_of("workspace.view")
    if bound and not any(map(visible.covers, bound)):
        raise NotFound(f"resource pool {request.resource_pool_name} not found")
    found = cut(sorted(filter(visible.covers, bound)), Window(request.offset, request.limit))
    return BoundWorkspaces(workspace_ids=tuple(found.rows), pagination=Pagination.of(found.page))


async def bind_pool(call: Call, request: BindPool) -> Empty:
    """Bind a resource pool to workspaces, besides those that it is bound to: only these may use it."""
    return await _send(call, request.resource_pool_name, request.body, proto.BindPool)


async def unbind_pool(call: Call, request: UnbindPool) -> Empty:
    """End bindings of a resource pool. Work that is in the pool stays there; a pool without any is for everybody."""
    return await _send(call, request.resource_pool_name, request.body, proto.UnbindPool)


async def overwrite_bindings(call: Call, request: OverwriteBindings) -> Empty:
    """Bind a resource pool to these workspaces and to no others; to none, and it is for everybody."""
    return await _send(call, request.resource_pool_name, request.body, proto.ReplacePoolBindings)


# ---------------------------------------------------------------- what requests name

Make = Callable[[str, tuple[int, ...]], proto.BindingCommand]


async def _send(call: Call, pool: str, body: Bound, make: Make) -> Empty:
    if body.resource_pool_name not in ("", pool):
        raise InvalidConfig(f"resourcePoolName: expected {pool!r}, as in the path; found {body.resource_pool_name!r}")
    await _bound_to(call, pool)
    workspace_ids = await _workspaces(call, body)
    if make is not proto.ReplacePoolBindings and not workspace_ids:
        raise InvalidConfig("workspaceIds: expected the numbers of workspaces, or their names in workspaceNames")
    settings = call.gateway.settings
    if make is not proto.UnbindPool and workspace_ids and pool in (settings.default_pool, settings.aux_pool):
        raise InvalidConfig(f"resourcePoolName: default resource pool {pool} cannot be bound to any workspace")
    await call.send(make(pool, workspace_ids))
    return Empty()


async def _bound_to(call: Call, pool: str) -> frozenset[int]:
    """The workspaces that the pool is bound to. Raises NotFound for a pool that neither is there nor is bound."""
    queries = call.gateway.ports.of(QUERIES)
    bindings = await queries.bindings()
    if pool not in bindings and pool not in {row.name for row in await queries.pools(call.gateway.settings.pool_names)}:
        raise NotFound(f"resource pool {pool} not found")
    return bindings.get(pool, frozenset())


async def _workspaces(call: Call, body: Bound) -> tuple[int, ...]:
    """Their numbers. Raises NotFound for one that does not exist, is being deleted, or is hidden from the caller."""
    found = await call.gateway.ports.of(WORKSPACES).workspaces(
        call.scope_of("workspace.view"),
        call.principal.user_id,
        Wanted(),
        SortWorkspacesBy.UNSPECIFIED,
        descending=False,
        window=Window(limit=-1),
    )
    by_name = {row.name: row.id for row in found.rows if not row.state}
    if unknown := sorted(set(body.workspace_ids) - set(by_name.values())):
        raise NotFound(f"workspaceIds: workspace {unknown[0]} not found")
    if missing := sorted(set(body.workspace_names) - by_name.keys()):
        raise NotFound(f"workspaceNames: workspace {missing[0]!r} not found")
    return tuple(sorted({*body.workspace_ids, *(by_name[name] for name in body.workspace_names)}))


BINDINGS = "/api/v1/resource-pools/{resourcePoolName}/workspace-bindings"
EDIT = ADMIN.to("cluster.bindings.edit").outside().showing("workspace.view")
TAG = "Internal"

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
        BINDINGS,
        list_bound_workspaces,
        SIGNED_IN.to("cluster.view").outside().showing("workspace.view"),
        request=ListWorkspacesBoundToRP,
        response=BoundWorkspaces,
        tag=TAG,
    ),
    operation("BindRPToWorkspace", "POST", BINDINGS, bind_pool, EDIT, request=BindPool, response=Empty, tag=TAG),
    operation(
        "UnbindRPFromWorkspace", "DELETE", BINDINGS, unbind_pool, EDIT, request=UnbindPool, response=Empty, tag=TAG
    ),
    operation(
        "OverwriteRPWorkspaceBindings",
        "PUT",
        BINDINGS,
        overwrite_bindings,
        EDIT,
        request=OverwriteBindings,
        response=Empty,
        tag=TAG,
    ),
)

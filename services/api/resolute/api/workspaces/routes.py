"""Workspaces and their projects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from resolute.api.call import Call
from resolute.api.kernel.common import AgentUserGroup, OrderBy, Pagination
from resolute.api.kernel.messages import Empty, given_in
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.pools.fit import is_for
from resolute.api.pools.queries import QUERIES as POOLS
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN
from resolute.api.workspaces.messages import (
    ActOnWorkspace,
    ChangedWorkspaceAnswer,
    DeletedWorkspaceAnswer,
    GetWorkspace,
    GetWorkspaceProjects,
    GetWorkspaces,
    NewWorkspace,
    NewWorkspaceAnswer,
    PatchWorkspace,
    PostWorkspace,
    ProjectsAnswer,
    Workspace,
    WorkspaceAnswer,
    WorkspaceChange,
    WorkspacesAnswer,
)
from resolute.api.workspaces.project_routes import ROUTES as OF_PROJECTS
from resolute.api.workspaces.queries import Wanted, WorkspaceRow
from resolute.api.workspaces.shown import STATES, project_shown, queries_of, soon_gone
from resolute.config.storage_fields import read_storage
from resolute.proto import spaces
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.identity import ChangeWorkspace, CreateWorkspace

OF_KUBERNETES = ("cluster_namespace_meta", "cluster_quota_pairs")


async def get_workspaces(call: Call, request: GetWorkspaces) -> WorkspacesAnswer:
    """The workspaces."""
    found = await queries_of(call).workspaces(
        call.scope,
        call.principal.user_id,
        replace(_wanted(request, request.name_case_sensitive), pinned=request.pinned),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=_window(request),
    )
    return WorkspacesAnswer(workspaces=tuple(map(_shown, found.rows)), pagination=Pagination.of(found.page))


async def get_workspace(call: Call, request: GetWorkspace) -> WorkspaceAnswer:
    """One workspace."""
    return WorkspaceAnswer(workspace=await _workspace(call, request.id))


async def post_workspace(call: Call, request: PostWorkspace) -> NewWorkspaceAnswer:
    """Make a workspace, with its default pools, its storage, and whom its tasks run as."""
    settings = await _settings_in(call, request.body)
    role_id = call.gateway.settings.authz.workspace_creator_assign_role.given
    made = await call.send(CreateWorkspace(request.body.name, call.principal.user_id, settings, role_id))
    return NewWorkspaceAnswer(workspace=await _workspace(call, made.data["workspace_id"]))


async def patch_workspace(call: Call, request: PatchWorkspace) -> ChangedWorkspaceAnswer:
    """Change a workspace's name or settings: what is absent or null stays, and what is empty is taken away."""
    changes = await _settings_in(call, request.body, request.id)
    if request.body.name is not None:
        changes["name"] = request.body.name
    await call.send(ChangeWorkspace(request.id, changes))
    return ChangedWorkspaceAnswer(workspace=await _workspace(call, request.id))


async def archive_workspace(call: Call, request: ActOnWorkspace) -> Empty:
    """Archive a workspace: it and its projects cannot be changed, and take no new experiments."""
    await call.send(spaces.ArchiveWorkspace(request.id))
    return Empty()


async def unarchive_workspace(call: Call, request: ActOnWorkspace) -> Empty:
    """Take a workspace out of the archive."""
    await call.send(spaces.UnarchiveWorkspace(request.id))
    return Empty()


async def pin_workspace(call: Call, request: ActOnWorkspace) -> Empty:
    """Keep a workspace at hand, for oneself."""
    await call.send(spaces.PinWorkspace(request.id, call.principal.user_id))
    return Empty()


async def unpin_workspace(call: Call, request: ActOnWorkspace) -> Empty:
    """Keep it at hand no more."""
    await call.send(spaces.UnpinWorkspace(request.id, call.principal.user_id))
    return Empty()


async def delete_workspace(call: Call, request: ActOnWorkspace) -> DeletedWorkspaceAnswer:
    """Delete a workspace, which has no models, with its projects and their experiments."""
    await call.send(spaces.DeleteWorkspace(request.id))
    queries, user_id = queries_of(call), call.principal.user_id
    row = await queries.workspace(request.id, user_id)
    if row is not None and not row.projects:
        row = await soon_gone(call, lambda: queries.workspace(request.id, user_id))
    return DeletedWorkspaceAnswer(completed=row is None)


async def get_workspace_projects(call: Call, request: GetWorkspaceProjects) -> ProjectsAnswer:
    """A workspace's projects."""
    await _workspace(call, request.id)
    found = await queries_of(call).projects(
        call.scope,
        request.id,
        _wanted(request),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=_window(request),
    )
    return ProjectsAnswer(projects=tuple(map(project_shown, found.rows)), pagination=Pagination.of(found.page))


# ---------------------------------------------------------------- what requests ask for


def _wanted(request: GetWorkspaces | GetWorkspaceProjects, name: str = "") -> Wanted:
    return Wanted(
        archived=request.archived, like=request.name, name=name, owners=request.users, owner_ids=request.user_ids
    )


def _window(request: GetWorkspaces | GetWorkspaceProjects) -> Window:
    return Window(request.offset, request.limit)


async def _settings_in(
    call: Call, wanted: NewWorkspace | WorkspaceChange, workspace_id: int | None = None
) -> dict[str, Any]:
    """The settings that a request gives, by their names in the log. What is left out is left as it is; an empty object
    or an empty name takes the setting away. Raises InvalidConfig, naming the field. `workspace_id`: None for a new
    workspace."""
    found: dict[str, Any] = {}
    if wanted.agent_user_group is not None:
        # Whether the rest will do is checked by the directory, which decides about workspaces.
        group = given_in(wanted.agent_user_group).items()
        found["agent_user_group"] = {name: value for name, value in group if value != ""}
    if wanted.checkpoint_storage_config is not None:
        storage = wanted.checkpoint_storage_config
        found["checkpoint_storage"] = read_storage(storage, "checkpointStorageConfig") if storage else {}
    for field, setting in wanted.POOLS.items():
        if (pool := getattr(wanted, field)) is not None:
            found[setting] = await _pool(call, wanted.wire_field(field), pool, workspace_id)
    for field in OF_KUBERNETES:
        if getattr(wanted, field, None):
            raise InvalidConfig(
                f"{wanted.wire_field(field)}: is for Kubernetes, which this release does not support; leave it out"
            )
    return found


async def _pool(call: Call, field: str, name: str, workspace_id: int | None) -> str:
    """Raises InvalidConfig for a pool that is not there, or bound to other workspaces; a new one has no binding yet."""
    if not name:
        return name
    bindings = await call.gateway.ports.of(POOLS).bindings()
    usable = [pool for pool in call.gateway.settings.pool_names if is_for(bindings.get(pool), workspace_id)]
    if name not in usable:
        raise InvalidConfig(
            f"{field}: unable to bind a resource pool that does not exist or is not available to the workspace: "
            f"{name!r}; there are {', '.join(usable)}"
        )
    return name


# ---------------------------------------------------------------- what answers show


async def _workspace(call: Call, workspace_id: int) -> Workspace:
    row = await queries_of(call).workspace(workspace_id, call.principal.user_id)
    if row is None:
        raise NotFound(f"workspace {workspace_id} not found")
    return _shown(row)


def _shown(row: WorkspaceRow) -> Workspace:
    group = row.agent_user_group
    return Workspace(
        id=row.id,
        name=row.name,
        archived=row.archived,
        immutable=row.immutable,
        num_projects=row.projects,
        num_experiments=row.experiments,
        user_id=row.owner_id,
        username=row.owner,
        default_compute_pool=row.default_compute_pool,
        default_aux_pool=row.default_aux_pool,
        agent_user_group=None if group is None else AgentUserGroup.stored(group),
        checkpoint_storage_config=row.checkpoint_storage,
        pinned=row.pinned_at is not None,
        pinned_at=row.pinned_at,
        state=STATES[row.state],
        error_message=row.error,
    )


VIEW = SIGNED_IN.to("workspace.view")
VIEW_ONE = VIEW.about("workspace", "id")
RUNS_AS = ADMIN.to("workspace.host_user.edit"), "body.agentUserGroup"
CREATE = SIGNED_IN.to("workspace.create").outside().but(*RUNS_AS)
EDIT_ONE = OWNERS.to("workspace.edit").about("workspace", "id")
EDIT = EDIT_ONE.but(*RUNS_AS)
"""Whom the tasks of a workspace run as is for administrators to say."""

TAG = "Workspaces"

ROUTES = (
    operation(
        "GetWorkspaces",
        "GET",
        "/api/v1/workspaces",
        get_workspaces,
        VIEW.over_scope(),
        request=GetWorkspaces,
        response=WorkspacesAnswer,
        tag=TAG,
    ),
    operation(
        "GetWorkspace",
        "GET",
        "/api/v1/workspaces/{id}",
        get_workspace,
        VIEW_ONE,
        request=GetWorkspace,
        response=WorkspaceAnswer,
        tag=TAG,
    ),
    operation(
        "PostWorkspace",
        "POST",
        "/api/v1/workspaces",
        post_workspace,
        CREATE,
        request=PostWorkspace,
        response=NewWorkspaceAnswer,
        tag=TAG,
    ),
    operation(
        "PatchWorkspace",
        "PATCH",
        "/api/v1/workspaces/{id}",
        patch_workspace,
        EDIT,
        request=PatchWorkspace,
        response=ChangedWorkspaceAnswer,
        tag=TAG,
    ),
    operation(
        "GetWorkspaceProjects",
        "GET",
        "/api/v1/workspaces/{id}/projects",
        get_workspace_projects,
        VIEW_ONE,
        request=GetWorkspaceProjects,
        response=ProjectsAnswer,
        tag=TAG,
    ),
    operation(
        "ArchiveWorkspace",
        "POST",
        "/api/v1/workspaces/{id}/archive",
        archive_workspace,
        EDIT_ONE,
        request=ActOnWorkspace,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "UnarchiveWorkspace",
        "POST",
        "/api/v1/workspaces/{id}/unarchive",
        unarchive_workspace,
        EDIT_ONE,
        request=ActOnWorkspace,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "PinWorkspace",
        "POST",
        "/api/v1/workspaces/{id}/pin",
        pin_workspace,
        VIEW_ONE,
        request=ActOnWorkspace,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "UnpinWorkspace",
        "POST",
        "/api/v1/workspaces/{id}/unpin",
        unpin_workspace,
        VIEW_ONE,
        request=ActOnWorkspace,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "DeleteWorkspace",
        "DELETE",
        "/api/v1/workspaces/{id}",
        delete_workspace,
        OWNERS.to("workspace.delete").about("workspace", "id"),
        request=ActOnWorkspace,
        response=DeletedWorkspaceAnswer,
        tag=TAG,
    ),
    *OF_PROJECTS,
)

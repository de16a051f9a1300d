"""Workspaces and their projects."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.kernel.common import AgentUserGroup, OrderBy, Pagination
from resolute.api.kernel.messages import given_in
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN
from resolute.api.settings import ApiSettings
from resolute.api.workspaces.messages import (
    ChangedWorkspaceAnswer,
    GetProject,
    GetWorkspace,
    GetWorkspaceProjects,
    GetWorkspaces,
    NewProjectAnswer,
    NewWorkspace,
    NewWorkspaceAnswer,
    PatchWorkspace,
    PostProject,
    PostWorkspace,
    Project,
    ProjectAnswer,
    ProjectsAnswer,
    Workspace,
    WorkspaceAnswer,
    WorkspaceChange,
    WorkspacesAnswer,
)
from resolute.api.workspaces.queries import QUERIES, ProjectRow, Wanted, WorkspaceQueries, WorkspaceRow
from resolute.config.storage_fields import read_storage
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.identity import ChangeWorkspace, CreateProject, CreateWorkspace

OF_KUBERNETES = ("cluster_namespace_meta", "cluster_quota_pairs")


async def get_workspaces(call: Call, request: GetWorkspaces) -> WorkspacesAnswer:
    """The workspaces."""
    found: Listed[WorkspaceRow] = cut((), _window(request))
    if not request.pinned:  # nothing can be pinned
        found = await _queries(call).workspaces(
            call.scope,
            _wanted(request, request.name_case_sensitive),
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
    settings = _settings_in(request.body, call.gateway.settings)
    made = await call.send(CreateWorkspace(request.body.name, call.principal.user_id, settings))
    return NewWorkspaceAnswer(workspace=await _workspace(call, made.data["workspace_id"]))


async def patch_workspace(call: Call, request: PatchWorkspace) -> ChangedWorkspaceAnswer:
    """Change a workspace's name or settings: what is absent or null stays, and what is empty is taken away."""
    changes = _settings_in(request.body, call.gateway.settings)
    if request.body.name is not None:
        changes["name"] = request.body.name
    await call.send(ChangeWorkspace(request.id, changes))
    return ChangedWorkspaceAnswer(workspace=await _workspace(call, request.id))


async def get_workspace_projects(call: Call, request: GetWorkspaceProjects) -> ProjectsAnswer:
    """A workspace's projects."""
    await _workspace(call, request.id)
    found = await _queries(call).projects(
        call.scope,
        request.id,
        _wanted(request),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=_window(request),
    )
    return ProjectsAnswer(projects=tuple(map(_shown_project, found.rows)), pagination=Pagination.of(found.page))


async def get_project(call: Call, request: GetProject) -> ProjectAnswer:
    """One project."""
    return ProjectAnswer(project=await _project(call, request.id))


async def post_project(call: Call, request: PostProject) -> NewProjectAnswer:
    """Make a project."""
    wanted = request.body
    create = CreateProject(request.workspace_id, wanted.name, wanted.description, call.principal.user_id)
    return NewProjectAnswer(project=await _project(call, (await call.send(create)).data["project_id"]))


# ---------------------------------------------------------------- what requests ask for


def _queries(call: Call) -> WorkspaceQueries:
    return call.gateway.ports.of(QUERIES)


def _wanted(request: GetWorkspaces | GetWorkspaceProjects, name: str = "") -> Wanted:
    return Wanted(
        archived=request.archived, name_part=request.name, name=name, owners=request.users, owner_ids=request.user_ids
    )


def _window(request: GetWorkspaces | GetWorkspaceProjects) -> Window:
    return Window(request.offset, request.limit)


def _settings_in(wanted: NewWorkspace | WorkspaceChange, cluster: ApiSettings) -> dict[str, Any]:
    """The settings that a request gives, by their names in the log. What is left out is left as it is; an empty object
    or an empty name takes the setting away. Raises InvalidConfig, naming the field."""
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
            found[setting] = _pool(wanted.wire_field(field), pool, cluster)
    for field in OF_KUBERNETES:
        if getattr(wanted, field, None):
            raise InvalidConfig(
                f"{wanted.wire_field(field)}: is for Kubernetes, which this release does not support; leave it out"
            )
    return found


def _pool(field: str, name: str, cluster: ApiSettings) -> str:
    if name and name not in cluster.pool_names:
        raise InvalidConfig(
            f"{field}: unable to bind a resource pool that does not exist or is not available to the workspace: "
            f"{name!r}; there are {', '.join(cluster.pool_names)}"
        )
    return name


# ---------------------------------------------------------------- what answers show


async def _workspace(call: Call, workspace_id: int) -> Workspace:
    row = await _queries(call).workspace(workspace_id)
    if row is None:
        raise NotFound(f"workspace {workspace_id} not found")
    return _shown(row)


async def _project(call: Call, project_id: int) -> Project:
    row = await _queries(call).project(project_id)
    if row is None:
        raise NotFound(f"project {project_id} not found")
    return _shown_project(row)


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
    )


def _shown_project(row: ProjectRow) -> Project:
    return Project(
        id=row.id,
        key=f"P{row.id}",
        name=row.name,
        description=row.description,
        archived=row.archived,
        immutable=row.immutable,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace,
        user_id=row.owner_id,
        username=row.owner,
        num_experiments=row.experiments,
        num_active_experiments=row.active,
        num_runs=row.runs,
        last_experiment_started_at=row.last_started_at,
    )


VIEW = SIGNED_IN.to("workspace.view")
VIEW_ONE = VIEW.about("workspace", "id")
RUNS_AS = ADMIN.to("workspace.host_user.edit"), "body.agentUserGroup"
CREATE = SIGNED_IN.to("workspace.create").outside().but(*RUNS_AS)
EDIT = OWNERS.to("workspace.edit").about("workspace", "id").but(*RUNS_AS)
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
        "PostProject",
        "POST",
        "/api/v1/workspaces/{workspaceId}/projects",
        post_project,
        SIGNED_IN.to("project.create").about("workspace", "workspaceId"),
        request=PostProject,
        response=NewProjectAnswer,
        tag="Projects",
    ),
    operation(
        "GetProject",
        "GET",
        "/api/v1/projects/{id}",
        get_project,
        SIGNED_IN.to("project.view").about("project", "id"),
        request=GetProject,
        response=ProjectAnswer,
        tag="Projects",
    ),
)

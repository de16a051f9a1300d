"""Workspaces and their projects."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN, Route
from resolute.api.views.listing import Where, listed, order_by, pattern
from resolute.api.views.workspaces import PROJECTS, WORKSPACES, project_json, workspace_json
from resolute.api.workspace_settings import settings_in
from resolute.proto.errors import NotFound
from resolute.proto.identity import ChangeWorkspace, CreateProject, CreateWorkspace

WORKSPACE_SORT = {"SORT_BY_ID": "w.id", "SORT_BY_NAME": "w.name"}
PROJECT_SORT = {
    "SORT_BY_CREATION_TIME": "p.id",
    "SORT_BY_LAST_EXPERIMENT_START_TIME": "e.last_started_at",
    "SORT_BY_NAME": "p.name",
    "SORT_BY_DESCRIPTION": "p.description",
    "SORT_BY_ID": "p.id",
}


async def get_workspaces(call: Call) -> dict[str, Any]:
    """The workspaces."""
    where = _common("w", call)
    if name := call.query.text("nameCaseSensitive"):
        where.add("w.name = ?", name)
    if call.query.flag("pinned"):
        where.plain("false")
    count = "SELECT count(*) FROM read_v1.workspaces w LEFT JOIN read_v1.users u ON u.id = w.owner_id"
    order = order_by(call, WORKSPACE_SORT, "w.id", tie="w.id")
    rows, page = await listed(call, WORKSPACES, count, where, order)
    return {"workspaces": [workspace_json(row) for row in rows], "pagination": page.as_json()}


async def get_workspace(call: Call) -> dict[str, Any]:
    """One workspace."""
    return {"workspace": await _workspace(call, call.int("id"))}


async def post_workspace(call: Call) -> dict[str, Any]:
    """Make a workspace, with its default pools, its storage, and whom its tasks run as."""
    settings = settings_in(call.body, call.gateway.settings)
    create = CreateWorkspace(str(call.body.get("name") or ""), call.principal.user_id, settings)
    workspace_id = (await call.send(create)).data["workspace_id"]
    return {"workspace": await _workspace(call, workspace_id), "namespaceBindings": {}}


async def patch_workspace(call: Call) -> dict[str, Any]:
    """Change a workspace's name or settings: what is absent or null stays, and what is empty is taken away."""
    workspace_id, name = call.int("id"), call.body.get("name")
    settings = settings_in(call.body, call.gateway.settings)
    await call.send(ChangeWorkspace(workspace_id, {**settings, **({} if name is None else {"name": str(name)})}))
    return {"workspace": await _workspace(call, workspace_id), "namespaceBindings": {}}


async def get_workspace_projects(call: Call) -> dict[str, Any]:
    """A workspace's projects."""
    where = _common("p", call)
    where.add("p.workspace_id = ?", (await _workspace(call, call.int("id")))["id"])
    count = "SELECT count(*) FROM read_v1.projects p LEFT JOIN read_v1.users u ON u.id = p.owner_id"
    order = order_by(call, PROJECT_SORT, "p.id", tie="p.id")
    rows, page = await listed(call, PROJECTS, count, where, order)
    return {"projects": [project_json(row) for row in rows], "pagination": page.as_json()}


async def get_project(call: Call) -> dict[str, Any]:
    """One project."""
    return {"project": await _project(call, call.int("id"))}


async def post_project(call: Call) -> dict[str, Any]:
    """Make a project."""
    name, description = str(call.body.get("name") or ""), str(call.body.get("description") or "")
    create = CreateProject(call.int("workspaceId"), name, description, call.principal.user_id)
    return {"project": await _project(call, (await call.send(create)).data["project_id"])}


def _common(alias: str, call: Call) -> Where:
    where = Where()
    if (archived := call.query.flag("archived")) is not None:
        where.add(f"{alias}.archived = ?", archived)
    if name := call.query.text("name"):
        where.add(f"{alias}.name ILIKE ?", pattern(name))
    if users := call.query.texts("users"):
        where.add("u.username = ANY(?::text[])", users)
    if user_ids := call.query.numbers("userIds"):
        where.add(f"{alias}.owner_id = ANY(?::int[])", user_ids)
    return where


async def _workspace(call: Call, workspace_id: int) -> dict[str, Any]:
    row = await call.gateway.read.row(f"{WORKSPACES} WHERE w.id = $1", workspace_id)
    if row is None:
        raise NotFound(f"workspace {workspace_id} not found")
    return workspace_json(row)


async def _project(call: Call, project_id: int) -> dict[str, Any]:
    row = await call.gateway.read.row(f"{PROJECTS} WHERE p.id = $1", project_id)
    if row is None:
        raise NotFound(f"project {project_id} not found")
    return project_json(row)


VIEW = SIGNED_IN.to("workspace.view")
VIEW_ONE = VIEW.about("workspace", "id")

VIEW_PROJECT = SIGNED_IN.to("project.view").about("project", "id")

RUNS_AS = "body.agentUserGroup"
"""Whom the tasks of a workspace run as is for administrators to say."""

ROUTES = (
    Route("GetWorkspaces", "GET", "/api/v1/workspaces", get_workspaces, VIEW.over_scope()),
    Route("GetWorkspace", "GET", "/api/v1/workspaces/{id}", get_workspace, VIEW_ONE),
    Route(
        "PostWorkspace",
        "POST",
        "/api/v1/workspaces",
        post_workspace,
        SIGNED_IN.to("workspace.create").outside().but(ADMIN.to("workspace.create"), RUNS_AS),
    ),
    Route(
        "PatchWorkspace",
        "PATCH",
        "/api/v1/workspaces/{id}",
        patch_workspace,
        OWNERS.to("workspace.edit").about("workspace", "id").but(ADMIN.to("workspace.edit"), RUNS_AS),
    ),
    Route("GetWorkspaceProjects", "GET", "/api/v1/workspaces/{id}/projects", get_workspace_projects, VIEW_ONE),
    Route(
        "PostProject",
        "POST",
        "/api/v1/workspaces/{workspaceId}/projects",
        post_project,
        SIGNED_IN.to("project.create").about("workspace", "workspaceId"),
    ),
    Route("GetProject", "GET", "/api/v1/projects/{id}", get_project, VIEW_PROJECT),
)

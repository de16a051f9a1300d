"""Which project a submission goes to, and what the project's workspace says of what is submitted there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson

from resolute.api.call import Call
from resolute.api.identity.shown import agent_user_of, queries_of
from resolute.config import ClusterDefaults
from resolute.proto.errors import NotFound, refuse
from resolute.proto.experiment import AgentUser

PROJECT = """SELECT p.id, p.name, p.archived OR w.archived AS archived, w.id AS workspace_id, w.name AS workspace,
    w.agent_user_group, w.checkpoint_storage, w.default_compute_pool, w.default_aux_pool
FROM read_workspaces.projects p JOIN read_workspaces.workspaces w ON w.id = p.workspace_id WHERE """

PREEMPTION_TIMEOUT_S = 3600


@dataclass(frozen=True, slots=True)
class Place:
    """`row`: of `PROJECT`, or None where there is no such project; `missing` says which."""

    row: asyncpg.Record | None
    missing: str = ""

    def project(self) -> asyncpg.Record:
        """Raises NotFound where there is no such project, and Refused where it takes no experiments."""
        if self.row is None:
            raise NotFound(self.missing)
        if self.row["archived"]:
            raise refuse(f"create an experiment in project {self.row['name']}", "it is archived", "unarchive it first")
        return self.row

    @property
    def checkpoint_storage(self) -> dict[str, Any] | None:
        """What the workspace says."""
        found = self.row["checkpoint_storage"] if self.row is not None else None
        return orjson.loads(found) if found else None

    def pool(self, column: str, otherwise: str) -> str:
        """The workspace's default pool, or the cluster's."""
        return (self.row[column] if self.row is not None else "") or otherwise

    async def agent_user(self, call: Call) -> AgentUser | None:
        """Whom the tasks run as: as the workspace says, else the user's link, else the cluster."""
        found = self.row["agent_user_group"] if self.row is not None else None
        if found and (group := orjson.loads(found)):
            return AgentUser(group["agentUser"], group["agentUid"], group["agentGroup"], group["agentGid"])
        user = await queries_of(call).user(call.principal.user_id)
        return agent_user_of(user, call.gateway.settings.default_task)


CLUSTERS = Place(None)
"""Where no project is chosen: the cluster's own defaults."""


async def place_of(call: Call, given: Mapping[str, Any], parent_project_id: int | None) -> Place:
    """Where the experiment shall stand: as the request says, else its configuration, else beside its parent. `given`
    is the configuration as it was submitted, which may be wrong."""
    asked = call.body.get("projectId")
    project, workspace = _name(given, "project"), _name(given, "workspace") or "Uncategorized"
    if asked:
        return Place(await _project(call, "p.id = $1", int(asked)), f"projectId: project {asked} not found")
    if project:
        row = await _project(call, "w.name = $1 AND p.name = $2", workspace, project)
        return Place(row, f"project: there is no project {project!r} in workspace {workspace!r}")
    row = await _project(call, "p.id = $1", parent_project_id or 1)
    return Place(row, "the parent's project not found")


async def _project(call: Call, condition: str, *args: Any) -> asyncpg.Record | None:
    """A row of `PROJECT`; None where there is none in the scope."""
    row = await call.gateway.read.row(PROJECT + condition, *args)
    return row if row is not None and call.scope.covers(row["workspace_id"]) else None


def _name(given: Mapping[str, Any], key: str) -> str:
    """Empty where what was submitted is no text that could be in the database."""
    name = given.get(key)
    storable = isinstance(name, str) and "\0" not in name and name == name.encode(errors="ignore").decode()
    return str(name) if storable else ""


def defaults_at(call: Call, place: Place = CLUSTERS, given: Mapping[str, Any] | None = None) -> ClusterDefaults:
    """What lies below a configuration that goes to `place`; `given`, as it was submitted, says to which pool."""
    settings = call.gateway.settings
    compute = place.pool("default_compute_pool", settings.default_pool)
    aux = place.pool("default_aux_pool", settings.aux_pool)
    resources = (given or {}).get("resources")
    asked = resources if isinstance(resources, Mapping) else {}
    pool = asked.get("resource_pool") or (aux if asked.get("slots_per_trial") == 0 else compute)
    container = settings.container_defaults(str(pool))
    return ClusterDefaults(
        checkpoint_storage=settings.checkpoint_storage,
        workspace_checkpoint_storage=place.checkpoint_storage,
        task_container_defaults=container,
        preemption_timeout_s=container.get("preemption_timeout", PREEMPTION_TIMEOUT_S),
        default_compute_pool=compute,
        default_aux_pool=aux,
        created_at_s=int(call.gateway.context.now().timestamp()),
        name=f"Experiment of {call.principal.username}",
    )

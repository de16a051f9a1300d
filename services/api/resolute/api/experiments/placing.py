"""Which project a submission goes to, and what the project's workspace says of what is submitted there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resolute.api.call import Call
from resolute.api.experiments.submission_queries import SUBMISSIONS, ProjectRow, SubmissionQueries, SubmittedRow
from resolute.api.identity.shown import agent_user_of, queries_of
from resolute.config import ClusterDefaults, Stated
from resolute.proto.errors import NotFound, refuse
from resolute.proto.experiment import AgentUser

PREEMPTION_TIMEOUT_S = 3600

UNCATEGORIZED = 1
"""The project of experiments that name none."""


def submissions_of(call: Call) -> SubmissionQueries:
    return call.gateway.ports.of(SUBMISSIONS)


async def submitted_of(call: Call, experiment_id: int) -> SubmittedRow:
    """Raises NotFound."""
    row = await submissions_of(call).submitted(experiment_id)
    if row is None:
        raise NotFound(f"experiment {experiment_id} not found")
    return row


@dataclass(frozen=True, slots=True)
class Place:
    """`row`: None where there is no such project; `missing` says which."""

    row: ProjectRow | None
    missing: str = ""

    def project(self) -> ProjectRow:
        """Raises NotFound where there is no such project, and Refused where it takes no experiments."""
        if self.row is None:
            raise NotFound(self.missing)
        check_takes_experiments(self.row, f"create an experiment in project {self.row.name}")
        return self.row

    @property
    def workspace_id(self) -> int | None:
        return self.row.workspace_id if self.row is not None else None

    @property
    def checkpoint_storage(self) -> dict[str, Any] | None:
        """What the workspace says."""
        found = self.row.checkpoint_storage if self.row is not None else None
        return dict(found) if found is not None else None

    def pool(self, kind: str, otherwise: str) -> str:
        """The workspace's default pool of this kind, `compute` or `aux`; where it has none, `otherwise`."""
        return (getattr(self.row, f"default_{kind}_pool") if self.row is not None else "") or otherwise

    async def agent_user(self, call: Call) -> AgentUser | None:
        """The user of the host as which tasks run: what the workspace says, else the user's link, else the cluster."""
        return await agent_user_at(call, self.row.agent_user_group if self.row is not None else None)


async def agent_user_at(call: Call, group: Mapping[str, Any] | None) -> AgentUser | None:
    """The user of the host as which tasks run. `group`: what the workspace says, None where it says nothing."""
    if group:
        return AgentUser(group["agentUser"], group["agentUid"], group["agentGroup"], group["agentGid"])
    user = await queries_of(call).user(call.principal.user_id)
    return agent_user_of(user, call.gateway.settings.default_task)


def check_takes_experiments(project: ProjectRow, what: str) -> None:
    """Raises Refused for a project that is archived or being deleted, and for one in such a workspace."""
    if project.archived:
        raise refuse(what, "it is archived", "unarchive it first")
    if project.leaving:
        raise refuse(what, "it is being deleted", "use another project")


CLUSTERS = Place(None)
"""Where no project is chosen: the cluster's own defaults."""

NOTHING_STATED = Stated()


async def place_of(call: Call, asked: int, given: Stated, parent_project_id: int | None) -> Place:
    """The project that the experiment goes to: what the request asks for by number, else what its configuration names,
    else its parent's. `given` is what was submitted, which may be wrong."""
    queries = submissions_of(call)
    project, workspace = _name(given, "project"), _name(given, "workspace") or "Uncategorized"
    if asked:
        return Place(_within_scope(call, await queries.project(asked)), f"projectId: project {asked} not found")
    if project:
        row = _within_scope(call, await queries.project_named(workspace, project))
        return Place(row, f"project: there is no project {project!r} in workspace {workspace!r}")
    row = _within_scope(call, await queries.project(parent_project_id or UNCATEGORIZED))
    return Place(row, "the parent's project not found")


def _within_scope(call: Call, row: ProjectRow | None) -> ProjectRow | None:
    return row if row is not None and call.scope.covers(row.workspace_id) else None


def _name(given: Stated, key: str) -> str:
    """Empty where what was submitted is no text that could be in the database."""
    name = given.at(key)
    storable = isinstance(name, str) and "\0" not in name and name == name.encode(errors="ignore").decode()
    return str(name) if storable else ""


def defaults_at(call: Call, place: Place = CLUSTERS, given: Stated = NOTHING_STATED) -> ClusterDefaults:
    """What lies below a configuration that goes to `place`, apart from a template. `given`, what was submitted, says to
    which pool the experiment goes."""
    settings = call.gateway.settings
    compute, aux = place.pool("compute", settings.default_pool), place.pool("aux", settings.aux_pool)
    container = settings.container_defaults(_pool(given, compute, aux))
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


def _pool(given: Stated, compute: str, aux: str) -> str:
    without_slots = given.at("resources", "slots_per_trial") == 0
    return str(given.at("resources", "resource_pool") or (aux if without_slots else compute))

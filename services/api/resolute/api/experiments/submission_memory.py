"""The twin of the queries that go before a command: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS
from resolute.api.experiments.submission_queries import CheckpointRow, ProjectRow, StateRow, SubmittedRow
from resolute.api.kernel.cache import CachedRows
from resolute.api.pools.projection import AGENTS, SLOTS
from resolute.api.trials.tables import TRIALS
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project
from resolute.proto.states import CheckpointState


@dataclass(frozen=True)
class MemorySubmissions:
    """`tables`: those of workspaces, experiments, trials, checkpoints and pools."""

    tables: CachedRows

    async def project(self, project_id: int) -> ProjectRow | None:
        row = self.tables.get(PROJECTS, project_id)
        return None if row is None else self._project(row)

    async def project_named(self, workspace: str, project: str) -> ProjectRow | None:
        places = map(self._project, self.tables.all(PROJECTS))
        return next((one for one in places if (one.workspace, one.name) == (workspace, project)), None)

    def _project(self, row: Project) -> ProjectRow:
        workspace = self.tables.get(WORKSPACES, row.workspace_id)
        assert workspace is not None, "every project is in a workspace"
        return ProjectRow(
            id=row.id,
            name=row.name,
            archived=row.archived or workspace.archived,
            leaving=bool(row.state or workspace.state),
            workspace_id=workspace.id,
            workspace=workspace.name,
            agent_user_group=workspace.agent_user_group,
            checkpoint_storage=workspace.checkpoint_storage,
            default_compute_pool=workspace.default_compute_pool,
            default_aux_pool=workspace.default_aux_pool,
        )

    async def submitted(self, experiment_id: int) -> SubmittedRow | None:
        row, stored = self.tables.get(EXPERIMENTS, experiment_id), self.tables.get(CONFIGS, experiment_id)
        if row is None or stored is None:
            return None
        return SubmittedRow(
            id=row.id,
            owner_id=row.owner_id,
            project_id=row.project_id,
            unmanaged=row.unmanaged,
            model_definition=row.model_definition,
            config=orjson.dumps(stored.config).decode(),
        )

    async def state(self, experiment_id: int) -> StateRow | None:
        row = self.tables.get(EXPERIMENTS, experiment_id)
        return None if row is None else StateRow(row.state, row.resource_pool)

    async def slots(self, pool: str) -> int:
        connected = {one.agent_id for one in self.tables.all(AGENTS) if one.alive and one.pool == pool}
        return sum(one.pool == pool and one.agent_id in connected for one in self.tables.all(SLOTS))

    async def checkpoint(self, uuid: str) -> CheckpointRow | None:
        row = self.tables.get(CHECKPOINTS, uuid)
        return None if row is None else CheckpointRow(row.state, row.storage)

    async def has_trial(self, trial_id: int) -> bool:
        return self.tables.get(TRIALS, trial_id) is not None

    async def latest_checkpoint(self, trial_id: int) -> str | None:
        of_trial = [one for one in self.tables.all(CHECKPOINTS) if one.trial_id == trial_id]
        found = [one for one in of_trial if one.state == CheckpointState.COMPLETED]
        by_uuid = sorted(found, key=lambda one: one.uuid)
        return max(by_uuid, key=lambda one: (one.steps_completed, one.reported_at)).uuid if found else None

"""What the gateway looks up before it sends a command about an experiment: the project that the experiment goes to, the
configuration that it has, what it starts from, and the slots there are. The port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.ports import Port, Tables
from resolute.proto.states import CheckpointState


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project, with what its workspace says of the experiments in it."""

    id: int
    name: str
    archived: bool
    """Whether it or its workspace is archived."""
    leaving: bool
    """Whether it or its workspace is being deleted."""
    workspace_id: int
    workspace: str
    agent_user_group: Mapping[str, Any] | None
    checkpoint_storage: Mapping[str, Any] | None
    default_compute_pool: str
    default_aux_pool: str


@dataclass(frozen=True, slots=True)
class SubmittedRow:
    """An experiment as it was submitted, with all edits of its configuration."""

    id: int
    owner_id: int
    project_id: int
    unmanaged: bool
    model_definition: str | None
    """The address of its context directory."""
    config: str = field(repr=False)
    """JSON. It may hold secrets, sealed or plain."""


@dataclass(frozen=True, slots=True)
class StateRow:
    state: str
    resource_pool: str


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    state: str
    storage: Mapping[str, Any]
    """The `checkpoint_storage` that it is written under."""


class SubmissionQueries(Protocol):
    """Each answers None for what does not exist."""

    async def project(self, project_id: int) -> ProjectRow | None: ...

    async def project_named(self, workspace: str, project: str) -> ProjectRow | None: ...

    async def submitted(self, experiment_id: int) -> SubmittedRow | None: ...

    async def state(self, experiment_id: int) -> StateRow | None: ...

    async def slots(self, pool: str) -> int:
        """How many slots the agents have that are connected now."""

    async def checkpoint(self, uuid: str) -> CheckpointRow | None: ...

    async def has_trial(self, trial_id: int) -> bool: ...

    async def latest_checkpoint(self, trial_id: int) -> str | None:
        """The UUID of the trial's completed checkpoint with the most steps."""


# ---------------------------------------------------------------- Postgres

PROJECT = """SELECT p.id, p.name, p.archived OR w.archived AS archived, w.id AS workspace_id, w.name AS workspace,
    p.state <> '' OR w.state <> '' AS leaving, w.agent_user_group, w.checkpoint_storage,
    w.default_compute_pool, w.default_aux_pool
FROM read_workspaces.projects p JOIN read_workspaces.workspaces w ON w.id = p.workspace_id"""

SUBMITTED = """SELECT e.id, e.owner_id, e.project_id, e.unmanaged, e.model_definition, f.config
FROM read_experiments.experiments e
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id WHERE e.id = $1"""

STATE = "SELECT state, resource_pool FROM read_experiments.experiments WHERE id = $1"

SLOTS = """SELECT count(*) FROM read_pools.slots s JOIN read_pools.agents a USING (agent_id, pool)
WHERE a.alive AND a.pool = $1"""

CHECKPOINT = "SELECT state, storage FROM read_checkpoints.checkpoints WHERE uuid = $1"

TRIAL = "SELECT 1 FROM read_trials.trials WHERE id = $1"

LATEST = f"""SELECT uuid FROM read_checkpoints.checkpoints WHERE trial_id = $1 AND state = '{CheckpointState.COMPLETED}'
ORDER BY steps_completed DESC, reported_at DESC, uuid LIMIT 1"""


class PostgresSubmissions:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def project(self, project_id: int) -> ProjectRow | None:
        return _project(await self._tables.row(f"{PROJECT} WHERE p.id = $1", project_id))

    async def project_named(self, workspace: str, project: str) -> ProjectRow | None:
        return _project(await self._tables.row(f"{PROJECT} WHERE w.name = $1 AND p.name = $2", workspace, project))

    async def submitted(self, experiment_id: int) -> SubmittedRow | None:
        row = await self._tables.row(SUBMITTED, experiment_id)
        return None if row is None else SubmittedRow(**row)

    async def state(self, experiment_id: int) -> StateRow | None:
        row = await self._tables.row(STATE, experiment_id)
        return None if row is None else StateRow(**row)

    async def slots(self, pool: str) -> int:
        return int(await self._tables.value(SLOTS, pool))

    async def checkpoint(self, uuid: str) -> CheckpointRow | None:
        row = await self._tables.row(CHECKPOINT, uuid)
        return None if row is None else CheckpointRow(row["state"], orjson.loads(row["storage"]))

    async def has_trial(self, trial_id: int) -> bool:
        return await self._tables.value(TRIAL, trial_id) is not None

    async def latest_checkpoint(self, trial_id: int) -> str | None:
        uuid: str | None = await self._tables.value(LATEST, trial_id)
        return uuid


def _project(row: asyncpg.Record | None) -> ProjectRow | None:
    if row is None:
        return None
    documents = {name: _document(row[name]) for name in ("agent_user_group", "checkpoint_storage")}
    return ProjectRow(**{**row, **documents})


def _document(text: str | None) -> Mapping[str, Any] | None:
    return orjson.loads(text) if text else None


SUBMISSIONS: Port[SubmissionQueries] = Port(PostgresSubmissions)

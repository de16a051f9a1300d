"""What live updates read: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from resolute.api.kernel.listing import Where
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.stream.kinds import (
    AGENTS,
    CHECKPOINTS,
    EXPERIMENTS,
    MODEL_VERSIONS,
    MODELS,
    PROJECTS,
    TASKS,
    TRIALS,
    Kind,
    Row,
    row_of,
)
from resolute.api.stream.ranges import Id

Wanted = Mapping[str, Collection[Id]]
"""By facet of a kind: values of which an object has one."""


class StreamQueries(Protocol):
    async def ids(self, kind: Kind, scope: Scope, wanted: Wanted | None, most: int) -> Sequence[Id]:
        """The objects within the scope that have a value of `wanted` (any object, where it is None), at most so many of
        them, in order."""

    async def rows(self, kind: Kind, by: str, values: Collection[Id]) -> Sequence[Row]:
        """The objects that have one of these values in what `by` names (`Kind.lookups`), wherever they lie: the caller
        holds them against the scope of each listener."""


# ---------------------------------------------------------------- Postgres

OF_EXPERIMENT = """LEFT JOIN read_experiments.experiments e ON e.id = {}
    LEFT JOIN read_workspaces.projects p ON p.id = e.project_id"""

OBJECTS: Mapping[str, str] = {
    PROJECTS.name: """SELECT p.id, p.name, p.description, p.archived, NULL::timestamptz AS created_at,
        coalesce(p.notes, '[]'::jsonb) AS notes, p.workspace_id, p.owner_id AS user_id, p.immutable,
        CASE WHEN p.state = '' THEN 'UNSPECIFIED' ELSE p.state END AS state, p.key
    FROM read_workspaces.projects p""",
    MODELS.name: """SELECT m.id, m.name, m.description, m.archived, m.created_at AS creation_time, m.notes,
        m.workspace_id, m.owner_id AS user_id, m.updated_at AS last_updated_time, m.metadata, m.labels
    FROM read_models.models m""",
    MODEL_VERSIONS.name: """SELECT v.id, v.name, v.version, v.checkpoint AS checkpoint_uuid,
        v.created_at AS creation_time, v.updated_at AS last_updated_time, v.metadata, v.model_id, v.owner_id AS user_id,
        v.comment, v.labels, v.notes, m.workspace_id, v.model_id || '.' || v.version AS _number
    FROM read_models.versions v JOIN read_models.models m ON m.id = v.model_id""",
    EXPERIMENTS.name: """SELECT e.id, e.name, e.description, e.notes, e.labels, e.state, e.archived,
        e.owner_id AS user_id, e.owner AS username, e.project_id, p.workspace_id, e.job_id, e.parent_id,
        e.resource_pool, e.searcher_type, e.unmanaged, e.search_progress, e.started_at AS start_time,
        e.ended_at AS end_time
    FROM read_experiments.experiments e LEFT JOIN read_workspaces.projects p ON p.id = e.project_id""",
    TRIALS.name: f"""SELECT t.id, t.experiment_id, t.task_id, t.state, t.restarts, t.run_id, t.hparams, t.best_metric,
        t.best_steps, t.latest_metric, t.latest_steps, t.started_at AS start_time, t.ended_at AS end_time, t.metadata,
        e.project_id, p.workspace_id
    FROM read_trials.trials t {OF_EXPERIMENT.format("t.experiment_id")}""",
    CHECKPOINTS.name: f"""SELECT c.uuid AS id, c.experiment_id, c.trial_id, c.task_id, c.allocation_id,
        c.steps_completed, c.state, c.size_bytes, c.metadata, c.reported_at AS report_time, p.workspace_id,
        e.project_id AS _project_id
    FROM read_checkpoints.checkpoints c {OF_EXPERIMENT.format("c.experiment_id")}""",
    TASKS.name: f"""SELECT a.task_id AS id, a.allocation_id, a.task_type, a.name, a.job_id, a.owner AS username,
        a.pool AS resource_pool, a.slots, a.priority, a.state, a.experiment_id, a.trial_id,
        a.requested_at AS request_time, a.started_at AS start_time, a.ended_at AS end_time, a.exit_code,
        COALESCE(p.workspace_id, i.workspace_id) AS workspace_id, COALESCE(i.ready, false) AS ready,
        e.project_id AS _project_id
    FROM read_tasks.allocations a {OF_EXPERIMENT.format("a.experiment_id")}
    LEFT JOIN read_interactive.tasks i ON i.task_id = a.task_id
    WHERE NOT EXISTS (SELECT 1 FROM read_tasks.allocations later WHERE later.task_id = a.task_id
        AND (later.requested_at, later.allocation_id) > (a.requested_at, a.allocation_id))""",
    AGENTS.name: """SELECT a.agent_id AS id, a.pool AS resource_pool, a.host, a.version, a.enabled, a.draining,
        a.joined_at AS registered_time,
        (SELECT count(*)::int FROM read_pools.slots s WHERE s.agent_id = a.agent_id AND s.pool = a.pool) AS slots,
        (SELECT count(*)::int FROM read_pools.slots s
            WHERE s.agent_id = a.agent_id AND s.pool = a.pool AND s.enabled) AS slots_enabled,
        NULL::int AS workspace_id
    FROM read_pools.agents a WHERE a.alive""",
}
"""The columns of all objects of each kind: `id` and `workspace_id` are among them, and those of its facets. What begins
with `_` is not shown to clients."""


class PostgresStream:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def ids(self, kind: Kind, scope: Scope, wanted: Wanted | None, most: int) -> Sequence[Id]:
        where = Where(scope, "o.workspace_id")
        if wanted is not None:
            start = len(where.args)
            where.args.extend(_array(kind, kind.facets[name], values) for name, values in wanted.items())
            either = [_any(kind, kind.facets[name], number) for number, name in enumerate(wanted, start + 1)]
            where.plain(f"({' OR '.join(either) or 'false'})")
        sql = f"SELECT o.id FROM ({OBJECTS[kind.name]}) o{where.sql} ORDER BY o.id LIMIT {most}"
        return [row["id"] for row in await self._tables.rows(sql, *where.args)]

    async def rows(self, kind: Kind, by: str, values: Collection[Id]) -> Sequence[Row]:
        column = kind.lookups[by]
        sql = f"SELECT o.* FROM ({OBJECTS[kind.name]}) o WHERE {_any(kind, column, 1)} ORDER BY o.id"
        found = await self._tables.rows(sql, _array(kind, column, values))
        return [row_of(kind, dict(row)) for row in found]


def _any(kind: Kind, column: str, number: int) -> str:
    return f"o.{column} = ANY(${number}::{'bigint' if kind.is_number(column) else 'text'}[])"


def _array(kind: Kind, column: str, values: Collection[Id]) -> list[Any]:
    return sorted(values, key=int if kind.is_number(column) else str)


QUERIES: Port[StreamQueries] = Port(PostgresStream)

"""What can be asked about checkpoints: the port, Postgres behind it, and its twin in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.checkpoints.messages import SortCheckpointsBy
from resolute.api.experiments.projection import WORKSPACE_OF_PROJECT
from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.proto.states import CheckpointState


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    steps_completed: int
    state: CheckpointState
    storage: Mapping[str, Any]
    resources: Mapping[str, int]
    metadata: Mapping[str, Any]
    reported_at: datetime
    hparams: Mapping[str, Any] | None
    """Those of its trial."""
    config: str | None = field(repr=False)
    """The JSON of the experiment's configuration."""
    metric: float | None
    """The searcher's metric, of the validation after the same number of batches."""
    training: Mapping[str, Any] | None
    validation: Mapping[str, Any] | None
    """The metrics after the same number of batches, of the latest run that reported any."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Where the files of a checkpoint are."""

    state: CheckpointState
    storage: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which checkpoints: those that fulfil all of this."""

    experiment_id: int | None = None
    trial_id: int | None = None
    states: tuple[CheckpointState, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """By the attribute; without one, by the validation metric; without that too, by trial. Those alike are in the order
    of their uuids."""

    by: SortCheckpointsBy = SortCheckpointsBy.UNSPECIFIED
    metric: str = ""
    descending: bool = False


class CheckpointQueries(Protocol):
    async def checkpoints(self, scope: Scope, wanted: Wanted, order: Order, window: Window) -> Listed[CheckpointRow]:
        """Those within the scope. What lacks the value that they are sorted by comes last."""

    async def checkpoint(self, uuid: str) -> CheckpointRow | None: ...

    async def several(self, uuids: Sequence[str]) -> Sequence[CheckpointRow]:
        """Those of these that there are, by trial, then by how much was trained."""

    async def stored(self, uuid: str) -> StoredRow | None: ...

    async def has_experiment(self, experiment_id: int) -> bool: ...

    async def has_trial(self, trial_id: int) -> bool: ...


# ---------------------------------------------------------------- Postgres

FROM = """FROM read_checkpoints.checkpoints c
LEFT JOIN read_trials.trials t ON t.id = c.trial_id
LEFT JOIN read_experiments.experiments e ON e.id = c.experiment_id
LEFT JOIN read_trials.validations v ON v.trial_id = c.trial_id AND v.steps_completed = c.steps_completed"""

SELECT = f"""SELECT c.*, t.hparams, f.config, v.metric {FROM}
LEFT JOIN read_experiments.experiment_configs f ON f.experiment_id = c.experiment_id"""

COUNT = f"SELECT count(*) {FROM}"

METRICS = """SELECT DISTINCT ON (m.trial_id, m.steps, m.kind) m.trial_id, m.steps, m.kind, m.metrics
FROM unnest($1::bigint[], $2::int[]) AS wanted (trial_id, steps)
JOIN measures.metrics m ON m.trial_id = wanted.trial_id AND m.steps = wanted.steps
WHERE m.kind IN ('training', 'validation')
ORDER BY m.trial_id, m.steps, m.kind, m.run_id DESC"""

STORED = "SELECT state, storage FROM read_checkpoints.checkpoints WHERE uuid = $1"

HAS_EXPERIMENT = "SELECT true FROM read_experiments.experiments WHERE id = $1"

HAS_TRIAL = "SELECT true FROM read_trials.trials WHERE id = $1"

COLUMNS = {
    SortCheckpointsBy.UUID: "c.uuid",
    SortCheckpointsBy.TRIAL_ID: "c.trial_id",
    SortCheckpointsBy.BATCH_NUMBER: "c.steps_completed",
    SortCheckpointsBy.END_TIME: "c.reported_at",
    SortCheckpointsBy.STATE: "c.state",
    # The best comes first, whichever way the metric goes.
    SortCheckpointsBy.SEARCHER_METRIC: "v.metric * CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END",
}

BY_METRIC = """(SELECT (m.metrics ->> {name})::double precision FROM measures.metrics m
WHERE m.trial_id = c.trial_id AND m.steps = c.steps_completed AND m.kind = 'validation'
  AND jsonb_typeof(m.metrics -> {name}) = 'number' ORDER BY m.run_id DESC LIMIT 1)"""
# {name} is a quoted literal, not an argument: the query that counts has no use for it. Requests bring no NUL in it.

IN_ORDER = " ORDER BY c.trial_id, c.steps_completed, c.uuid"

Metrics = Mapping[tuple[int, int, str], Mapping[str, Any]]
"""By trial, batches trained, and group."""


class PostgresCheckpoints:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def checkpoints(self, scope: Scope, wanted: Wanted, order: Order, window: Window) -> Listed[CheckpointRow]:
        by = ordering(_column(order), "c.uuid", descending=order.descending)
        found = await listed_in(self._tables, SELECT, COUNT, _conditions(scope, wanted), by, window)
        return Listed(await self._with_metrics(found.rows), found.page)

    async def checkpoint(self, uuid: str) -> CheckpointRow | None:
        found = await self._with_metrics(await self._tables.rows(f"{SELECT} WHERE c.uuid = $1", uuid))
        return found[0] if found else None

    async def several(self, uuids: Sequence[str]) -> Sequence[CheckpointRow]:
        return await self._with_metrics(
            await self._tables.rows(f"{SELECT} WHERE c.uuid = ANY($1::text[]){IN_ORDER}", uuids)
        )

    async def stored(self, uuid: str) -> StoredRow | None:
        row = await self._tables.row(STORED, uuid)
        return None if row is None else StoredRow(CheckpointState(row["state"]), orjson.loads(row["storage"]))

    async def has_experiment(self, experiment_id: int) -> bool:
        return bool(await self._tables.value(HAS_EXPERIMENT, experiment_id))

    async def has_trial(self, trial_id: int) -> bool:
        return bool(await self._tables.value(HAS_TRIAL, trial_id))

    async def _with_metrics(self, rows: Sequence[asyncpg.Record]) -> Sequence[CheckpointRow]:
        if not rows:
            return ()
        trials, steps = [row["trial_id"] for row in rows], [row["steps_completed"] for row in rows]
        found = await self._tables.rows(METRICS, trials, steps)
        metrics = {(m["trial_id"], m["steps"], m["kind"]): orjson.loads(m["metrics"]) for m in found}
        return [_checkpoint(row, metrics) for row in rows]


def _conditions(scope: Scope, wanted: Wanted) -> Where:
    where = Where(scope, WORKSPACE_OF_PROJECT.format("e.project_id"))
    if wanted.experiment_id is not None:
        where.add("c.experiment_id = ?", wanted.experiment_id)
    if wanted.trial_id is not None:
        where.add("c.trial_id = ?", wanted.trial_id)
    if wanted.states:
        where.add("c.state = ANY(?::text[])", wanted.states)
    return where


def _column(order: Order) -> str:
    if (column := COLUMNS.get(order.by)) is not None:
        return column
    if order.metric:
        return BY_METRIC.format(name="'" + order.metric.replace("'", "''") + "'")
    return COLUMNS[SortCheckpointsBy.TRIAL_ID]


def _checkpoint(row: asyncpg.Record, metrics: Metrics) -> CheckpointRow:
    place = (row["trial_id"], row["steps_completed"])
    return CheckpointRow(
        uuid=row["uuid"],
        experiment_id=row["experiment_id"],
        trial_id=row["trial_id"],
        task_id=row["task_id"],
        allocation_id=row["allocation_id"],
        steps_completed=row["steps_completed"],
        state=CheckpointState(row["state"]),
        storage=orjson.loads(row["storage"]),
        resources=orjson.loads(row["resources"]),
        metadata=orjson.loads(row["metadata"]),
        reported_at=row["reported_at"],
        hparams=orjson.loads(row["hparams"]) if row["hparams"] else None,
        config=row["config"],
        metric=row["metric"],
        training=metrics.get((*place, "training")),
        validation=metrics.get((*place, "validation")),
    )


QUERIES: Port[CheckpointQueries] = Port(PostgresCheckpoints)

"""What can be asked about trials: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.experiments.projection import WORKSPACE_OF_PROJECT
from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, Phase, sql_list
from resolute.api.trials.messages import SortTrialsBy
from resolute.proto.states import STOPPING, WITH_FILES, CheckpointState, ExperimentState, TrialState


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint that has all its files."""

    uuid: str
    steps_completed: int
    resources: Mapping[str, int]
    metadata: Mapping[str, Any]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class TrialRow:
    id: int
    experiment_id: int
    task_id: str
    phase: str
    """The state; of an active trial, how far its allocation has come. A trial that has reached its target and given
    its slots back is PAUSED: it waits for the search, and for no slots."""
    reason: str
    started_at: datetime
    ended_at: datetime | None
    restarts: int
    hparams: Mapping[str, Any]
    warm_start: str
    """The checkpoint that its first run began from; empty for none."""
    searcher_metric: str
    smaller_is_better: bool
    best_metric: float | None
    best_checkpoint: CheckpointRow | None
    """The one with the best validation; without validations the last one."""
    checkpoints: int
    """Those that have files."""
    checkpoint_bytes: int
    wall_s: float
    """The seconds for which its runs that have ended ran."""
    log_retention_days: int | None
    """The trial's own setting, or else the experiment's."""
    logs_removed_at: datetime | None
    log_policy_matched: str | None
    metadata: Mapping[str, Any] | None
    """None where the log has none."""


@dataclass(frozen=True, slots=True)
class OutsideRow:
    """A trial that runs outside of the cluster, and its run."""

    trial_id: int
    experiment_id: int
    run_id: int
    started_at: datetime


class TrialQueries(Protocol):
    """Lists hold what lies within the scope. They are in the order that is asked for, and by id where that leaves two
    alike; what is missing comes last."""

    async def trials(
        self,
        scope: Scope,
        experiment_id: int,
        phases: Collection[str],
        by: SortTrialsBy,
        *,
        descending: bool,
        window: Window,
    ) -> Listed[TrialRow]:
        """Those of one experiment, in one of `phases`, or in any where there are none."""

    async def trial(self, trial_id: int) -> TrialRow | None: ...

    async def trials_of(self, ids: Sequence[int]) -> Sequence[TrialRow]:
        """Those of these that exist, by id."""

    async def experiment_of(self, trial_id: int) -> int | None:
        """None for a trial that does not exist."""

    async def metadata(self, trial_id: int) -> Mapping[str, Any] | None:
        """None where the log has none, and for a trial that does not exist."""

    async def running_outside(self, beyond: int, most: int) -> Sequence[OutsideRow]:
        """The trials with an id above `beyond` that run outside of the cluster, the first `most` of them by id."""

    async def trial_outside(self, scope: Scope, experiment: str, trial: str) -> int | None:
        """The trial that was created from outside of the cluster with these external ids: that of its experiment, and
        its own. Where several experiments of this id have such a trial, that of the newest."""


# ---------------------------------------------------------------- Postgres

PHASE = f"""CASE
    WHEN t.state <> '{TrialState.ACTIVE}' THEN t.state
    WHEN e.state IN {sql_list((*STOPPING, ExperimentState.PAUSED))} THEN e.state
    WHEN e.unmanaged AND r.ended_at IS NULL AND r.started_at IS NOT NULL THEN '{Phase.RUNNING}'
    WHEN e.unmanaged THEN '{TrialState.PAUSED}'
    WHEN a.state = '{AllocationState.RUNNING}' THEN '{Phase.RUNNING}'
    WHEN a.state = '{AllocationState.ASSIGNED}' THEN '{Phase.STARTING}'
    WHEN a.state = '{AllocationState.TERMINATING}' THEN '{TrialState.STOPPING_CANCELED}'
    WHEN t.target_reached AND r.ended_at IS NOT NULL THEN '{TrialState.PAUSED}'
    ELSE '{Phase.QUEUED}' END"""

FROM = """FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
LEFT JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
LEFT JOIN read_tasks.allocations a ON a.allocation_id = r.allocation_id AND a.ended_at IS NULL"""

LOG_RETENTION_DAYS = "coalesce(t.log_retention_days, e.log_retention_days)"

TRIALS = f"""SELECT t.id, t.experiment_id, t.task_id, {PHASE} AS phase, t.reason, t.started_at, t.ended_at, t.restarts,
    t.hparams, t.warm_start, e.searcher_metric, e.smaller_is_better, t.best_metric, c.*, k.checkpoints, k.bytes,
    w.wall_s, {LOG_RETENTION_DAYS} AS log_retention_days, t.logs_removed_at, t.log_policy_matched, t.metadata
{FROM}
LEFT JOIN LATERAL (
    SELECT c.uuid AS best_uuid, c.steps_completed AS best_steps_completed, c.resources AS best_resources,
           c.metadata AS best_metadata, c.reported_at AS best_reported_at
    FROM read_checkpoints.checkpoints c
    LEFT JOIN read_trials.validations v ON v.trial_id = c.trial_id AND v.steps_completed = c.steps_completed
    WHERE c.trial_id = t.id AND c.state = '{CheckpointState.COMPLETED}'
    ORDER BY v.metric * CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END NULLS LAST, c.steps_completed DESC, c.uuid
    LIMIT 1) c ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS checkpoints, coalesce(sum(size_bytes), 0) AS bytes FROM read_checkpoints.checkpoints k
    WHERE k.trial_id = t.id AND k.state IN {sql_list(WITH_FILES)}) k
CROSS JOIN LATERAL (
    SELECT coalesce(sum(extract(epoch FROM r.ended_at - coalesce(r.started_at, r.ended_at))), 0) AS wall_s
    FROM read_trials.runs r WHERE r.trial_id = t.id) w"""

COUNTED = f"SELECT count(*) {FROM}"

EXPERIMENT = "SELECT experiment_id FROM read_trials.trials WHERE id = $1"

RUNNING_OUTSIDE = f"""SELECT t.id AS trial_id, t.experiment_id, t.run_id, r.started_at
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
WHERE e.unmanaged AND e.state = '{ExperimentState.ACTIVE}' AND t.id > $1
AND r.started_at IS NOT NULL AND r.ended_at IS NULL ORDER BY t.id LIMIT $2"""

OUTSIDE = """SELECT t.id FROM read_experiments.experiments e
JOIN read_trials.trials t ON t.experiment_id = e.id"""

METADATA = "SELECT metadata FROM read_trials.trials WHERE id = $1"

COLUMNS: Mapping[SortTrialsBy, str] = {
    SortTrialsBy.START_TIME: "t.started_at",
    SortTrialsBy.END_TIME: "t.ended_at",
    SortTrialsBy.STATE: "phase",
    SortTrialsBy.BEST_VALIDATION_METRIC: "t.best_metric",
    SortTrialsBy.LATEST_VALIDATION_METRIC: "t.latest_metric",
    SortTrialsBy.BATCHES_PROCESSED: (
        "(SELECT max(m.steps) FROM measures.metrics m WHERE m.trial_id = t.id AND steps >= 0)"
    ),
    SortTrialsBy.DURATION: "t.ended_at - t.started_at",
    SortTrialsBy.RESTARTS: "t.restarts",
    SortTrialsBy.CHECKPOINT_SIZE: "k.bytes",
    SortTrialsBy.LOG_RETENTION_DAYS: LOG_RETENTION_DAYS,
}
"""What lists are sorted by, other than the id."""


class PostgresTrials:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def trials(
        self,
        scope: Scope,
        experiment_id: int,
        phases: Collection[str],
        by: SortTrialsBy,
        *,
        descending: bool,
        window: Window,
    ) -> Listed[TrialRow]:
        where = Where(scope, WORKSPACE_OF_PROJECT.format("e.project_id"))
        where.add("t.experiment_id = ?", experiment_id)
        if phases:
            where.add(f"{PHASE} = ANY(?::text[])", sorted(phases))
        order = ordering(COLUMNS.get(by, "t.id"), "t.id", descending=descending)
        found = await listed_in(self._tables, TRIALS, COUNTED, where, order, window)
        return Listed([_trial(row) for row in found.rows], found.page)

    async def trial(self, trial_id: int) -> TrialRow | None:
        row = await self._tables.row(f"{TRIALS} WHERE t.id = $1", trial_id)
        return None if row is None else _trial(row)

    async def trials_of(self, ids: Sequence[int]) -> Sequence[TrialRow]:
        found = await self._tables.rows(f"{TRIALS} WHERE t.id = ANY($1::bigint[]) ORDER BY t.id", ids)
        return [_trial(row) for row in found]

    async def experiment_of(self, trial_id: int) -> int | None:
        found: int | None = await self._tables.value(EXPERIMENT, trial_id)
        return found

    async def metadata(self, trial_id: int) -> Mapping[str, Any] | None:
        return _document(await self._tables.value(METADATA, trial_id))

    async def running_outside(self, beyond: int, most: int) -> Sequence[OutsideRow]:
        return [OutsideRow(**row) for row in await self._tables.rows(RUNNING_OUTSIDE, beyond, most)]

    async def trial_outside(self, scope: Scope, experiment: str, trial: str) -> int | None:
        where = Where(scope, WORKSPACE_OF_PROJECT.format("e.project_id"))
        where.add("e.unmanaged AND e.external_id = ?", experiment)
        where.add("t.request_id = ?", trial)
        found: int | None = await self._tables.value(f"{OUTSIDE}{where.sql} ORDER BY e.id DESC LIMIT 1", *where.args)
        return found


def _trial(row: asyncpg.Record) -> TrialRow:
    return TrialRow(
        id=row["id"],
        experiment_id=row["experiment_id"],
        task_id=row["task_id"],
        phase=row["phase"],
        reason=row["reason"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        restarts=row["restarts"],
        hparams=orjson.loads(row["hparams"]),
        warm_start=row["warm_start"] or "",
        searcher_metric=row["searcher_metric"],
        smaller_is_better=row["smaller_is_better"],
        best_metric=row["best_metric"],
        best_checkpoint=_best_checkpoint(row),
        checkpoints=row["checkpoints"],
        checkpoint_bytes=int(row["bytes"]),
        wall_s=float(row["wall_s"]),
        log_retention_days=row["log_retention_days"],
        logs_removed_at=row["logs_removed_at"],
        log_policy_matched=row["log_policy_matched"],
        metadata=_document(row["metadata"]),
    )


def _best_checkpoint(row: asyncpg.Record) -> CheckpointRow | None:
    if row["best_uuid"] is None:
        return None
    return CheckpointRow(
        uuid=row["best_uuid"],
        steps_completed=row["best_steps_completed"],
        resources=orjson.loads(row["best_resources"]),
        metadata=orjson.loads(row["best_metadata"]),
        reported_at=row["best_reported_at"],
    )


def _document(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else orjson.loads(text)


QUERIES: Port[TrialQueries] = Port(PostgresTrials)

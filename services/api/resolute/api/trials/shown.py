"""A trial as answers show one: its row, and the summary of what it reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from resolute.api.checkpoints.messages import CheckpointState
from resolute.api.checkpoints.shown import with_steps
from resolute.api.measures.metrics import MetricStore, Stored, TrialSummary
from resolute.api.metrics.measured import Metrics
from resolute.api.trials.messages import CheckpointWorkload, MetricsWorkload, Trial, TrialState
from resolute.api.trials.queries import CheckpointRow, TrialRow


async def shown(measured: MetricStore, rows: Sequence[TrialRow]) -> tuple[Trial, ...]:
    summaries = await _summaries(measured, rows)
    return tuple(_shown(row, summaries.get(row.id, TrialSummary())) for row in rows)


async def shown_in_full(measured: MetricStore, row: TrialRow) -> Trial:
    """With the summary of all its metrics."""
    summaries = await _summaries(measured, [row])
    return _shown(row, summaries.get(row.id, TrialSummary()), await measured.columns(row.id))


async def _summaries(measured: MetricStore, rows: Sequence[TrialRow]) -> Mapping[int, TrialSummary]:
    """By trial. One query for each searcher's metric among them: for the trials of one experiment that is one query."""
    found: dict[int, TrialSummary] = {}

    def metric(row: TrialRow) -> tuple[str, bool]:
        return row.searcher_metric, row.smaller_is_better

    for (name, smaller), group in groupby(sorted(rows, key=metric), key=metric):
        found.update(await measured.summaries([row.id for row in group], name, smaller))
    return found


def _shown(row: TrialRow, summary: TrialSummary, columns: Mapping[str, Any] | None = None) -> Trial:
    return Trial(
        id=row.id,
        experiment_id=row.experiment_id,
        start_time=row.started_at,
        end_time=row.ended_at,
        state=TrialState(f"STATE_{row.phase}"),
        restarts=row.restarts,
        hparams=row.hparams,
        total_batches_processed=summary.total_batches,
        best_validation=_workload(summary.best),
        latest_validation=_workload(summary.latest),
        best_checkpoint=_checkpoint(row.best_checkpoint),
        runner_state=summary.runner_state,
        wall_clock_time=row.wall_s,
        warm_start_checkpoint_uuid=row.warm_start,
        task_id=row.task_id,
        task_ids=(row.task_id,),
        total_checkpoint_size=row.checkpoint_bytes,
        checkpoint_count=row.checkpoints,
        summary_metrics=columns,
        searcher_metric_value=row.best_metric,
        state_reason=row.reason or None,
        log_retention_days=row.log_retention_days,
        logs_removed_at=row.logs_removed_at,
        log_policy_matched=row.log_policy_matched,
        metadata=metadata_of(row.metadata, summary),
    )


def metadata_of(recorded: Mapping[str, Any] | None, summary: TrialSummary) -> Mapping[str, Any] | None:
    """The metadata of the log; else those of an earlier release that are not carried over into the log yet."""
    return summary.metadata if recorded is None else recorded


def _workload(stored: Stored | None) -> MetricsWorkload | None:
    return None if stored is None else metrics_workload(stored.metrics, stored.steps, stored.reported_at)


def metrics_workload(metrics: Mapping[str, Any], steps: int, reported_at: datetime) -> MetricsWorkload:
    return MetricsWorkload(metrics=Metrics(avg_metrics=metrics), total_batches=steps, end_time=reported_at)


def _checkpoint(row: CheckpointRow | None) -> CheckpointWorkload | None:
    if row is None:
        return None
    return CheckpointWorkload(
        uuid=row.uuid,
        state=CheckpointState.COMPLETED,
        total_batches=row.steps_completed,
        end_time=row.reported_at,
        resources=row.resources,
        metadata=with_steps(row.metadata, row.steps_completed),
    )

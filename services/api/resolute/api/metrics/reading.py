"""Reading metrics back: the reports of trials, by group and in order of steps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from resolute.api.call import Call
from resolute.api.metrics.messages import (
    GetMetrics,
    GetTrainingMetrics,
    GetValidationMetrics,
    MetricsAnswer,
    MetricsReport,
    TrainingMetricsAnswer,
    ValidationMetricsAnswer,
)
from resolute.api.metrics.queries import QUERIES, MetricQueries, Stored
from resolute.api.trials import lookup


async def get_metrics(call: Call, request: GetMetrics) -> AsyncIterator[MetricsAnswer]:
    await _check_there(call, request.trial_ids)
    pages = _pages(queries(call), request.trial_ids, request.group)
    return (MetricsAnswer(metrics=page) async for page in pages)


async def get_training_metrics(call: Call, request: GetTrainingMetrics) -> AsyncIterator[TrainingMetricsAnswer]:
    await _check_there(call, request.trial_ids)
    pages = _pages(queries(call), request.trial_ids, "training")
    return (TrainingMetricsAnswer(metrics=page) async for page in pages)


async def get_validation_metrics(call: Call, request: GetValidationMetrics) -> AsyncIterator[ValidationMetricsAnswer]:
    await _check_there(call, request.trial_ids)
    pages = _pages(queries(call), request.trial_ids, "validation")
    return (ValidationMetricsAnswer(metrics=page) async for page in pages)


def queries(call: Call) -> MetricQueries:
    return call.gateway.ports.of(QUERIES)


async def _check_there(call: Call, trial_ids: Iterable[int]) -> None:
    """Raises NotFound for the first trial that does not exist."""
    for trial_id in trial_ids:
        await lookup.trial(call.gateway, trial_id)


async def _pages(of: MetricQueries, trial_ids: Sequence[int], group: str) -> AsyncIterator[tuple[MetricsReport, ...]]:
    for trial_id in trial_ids:
        for one in [group] if group else await of.groups(trial_id):
            async for page in of.reports(trial_id, one):
                yield tuple(map(shown, page))


def shown(row: Stored) -> MetricsReport:
    return MetricsReport(
        id=row.id,
        trial_id=row.trial_id,
        trial_run_id=row.run_id,
        group=row.kind,
        total_batches=batches_of(row.steps),
        metrics={"validation_metrics" if row.kind == "validation" else "avg_metrics": row.metrics},
        end_time=row.reported_at,
    )


def batches_of(steps: int) -> int:
    """The number of batches that is shown for the step of a report: 0 where none was reported."""
    return max(steps, 0)

"""Charts of several trials, and what a trial did: metrics that are shown together with trials and checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resolute.api.call import Call
from resolute.api.checkpoints.messages import CheckpointState
from resolute.api.checkpoints.shown import files_of, with_steps
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.paging import Window
from resolute.api.metrics import messages as m
from resolute.api.metrics.queries import CheckpointRow, Point, Series, Stored, Workloads
from resolute.api.metrics.reading import batches_of, queries
from resolute.api.trials import lookup
from resolute.api.trials.messages import CheckpointWorkload
from resolute.api.trials.reading import trial_of
from resolute.api.trials.shown import metrics_workload
from resolute.proto import states

POINTS = 200
"""Of each series, where the request does not say how many."""

TYPES = {"training": m.MetricType.TRAINING, "validation": m.MetricType.VALIDATION}


async def compare_trials(call: Call, request: m.CompareTrials) -> m.ComparisonAnswer:
    """Time series of several trials, thinned to `maxDatapoints` each."""
    names, groups = _asked_for(request)
    most = request.max_datapoints or POINTS
    wanted = Series(request.start_batches, request.end_batches, tuple(sorted(names)), most)
    compared = []
    for trial_id in request.trial_ids:
        await lookup.trial(call.gateway, trial_id)
        trial = await trial_of(call, trial_id)
        of_trial = groups or await queries(call).groups(trial_id)
        series = [await _series(call, trial_id, group, wanted) for group in of_trial]
        compared.append(m.ComparableTrial(trial=trial, metrics=tuple(series)))
    return m.ComparisonAnswer(trials=tuple(compared))


def _asked_for(request: m.CompareTrials) -> tuple[Collection[str], Sequence[str]]:
    """Names of metrics, and groups: by name within one group, or by ids of the form group.name."""
    pairs = [metric_id.partition(".")[::2] for metric_id in request.metric_ids if metric_id]
    groups = sorted({group for group, _ in pairs}) or ([request.group] if request.group else [])
    return {*request.metric_names, *(name for _, name in pairs)}, groups


async def _series(call: Call, trial_id: int, group: str, wanted: Series) -> m.DownsampledMetrics:
    points = await queries(call).series(trial_id, group, wanted)
    data = tuple(_point(point, wanted.names) for point in points)
    return m.DownsampledMetrics(group=group, type=TYPES.get(group, m.MetricType.UNSPECIFIED), data=data)


def _point(point: Point, names: Collection[str]) -> m.DataPoint:
    values = {name: value for name, value in point.metrics.items() if not names or name in names}
    return m.DataPoint(batches=batches_of(point.steps), values=values, time=point.reported_at)


async def trial_workloads(call: Call, request: m.GetTrialWorkloads) -> m.WorkloadsAnswer:
    """What a trial did, in order of steps: trainings, validations and checkpoints."""
    await lookup.trial(call.gateway, request.trial_id)
    groups, checkpoints = CHOSEN[request.filter]
    wanted = Workloads(groups, checkpoints, newest_first=request.order_by is OrderBy.DESC)
    found = await queries(call).workloads(request.trial_id, wanted, Window(request.offset, request.limit))
    return m.WorkloadsAnswer(workloads=tuple(map(_workload, found.rows)), pagination=Pagination.of(found.page))


CHOSEN = {
    m.WorkloadFilter.UNSPECIFIED: (("training", "validation"), True),
    m.WorkloadFilter.CHECKPOINT: ((), True),
    m.WorkloadFilter.VALIDATION: (("validation",), False),
    m.WorkloadFilter.CHECKPOINT_OR_VALIDATION: (("validation",), True),
}
"""By filter: the groups that are shown, and whether checkpoints are."""


def _workload(row: Stored | CheckpointRow) -> m.WorkloadContainer:
    if isinstance(row, CheckpointRow):
        return m.WorkloadContainer(checkpoint=_checkpoint(row))
    shown = metrics_workload(row.metrics, batches_of(row.steps), row.reported_at)
    return m.WorkloadContainer(training=shown) if row.kind == "training" else m.WorkloadContainer(validation=shown)


def _checkpoint(row: CheckpointRow) -> CheckpointWorkload:
    # Clients know no PARTIALLY_DELETED here.
    partly = row.state == states.CheckpointState.PARTIALLY_DELETED
    return CheckpointWorkload(
        uuid=row.uuid,
        state=CheckpointState.COMPLETED if partly else CheckpointState(f"STATE_{row.state}"),
        total_batches=row.steps,
        end_time=row.reported_at,
        resources=files_of(row.state, row.resources),
        metadata=with_steps(row.metadata, row.steps),
    )

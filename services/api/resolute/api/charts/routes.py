"""Charts of a search, as streams: each message has what is new since the one before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from resolute.api.call import Call
from resolute.api.charts import messages as m
from resolute.api.charts.following import experiments, looks, queries
from resolute.api.charts.queries import ChartedExperiment, ChartedTrial, ChartPoint, Metric, NamedMetrics, Stretch
from resolute.api.charts.sampling import best, change
from resolute.api.kernel.operations import stream
from resolute.api.metrics.messages import DataPoint, MetricType
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.metrics.reading import batches_of
from resolute.api.routing import SIGNED_IN
from resolute.proto.errors import InvalidConfig

BATCHES_MOST = 10_000
"""Of one message. What is more comes in further messages at once."""
SEEN_MOST = 100_000
"""Batches that a stream knows it has sent. Later ones may be sent again, when another trial reports them too."""
SAMPLED_TRIALS, SAMPLED_POINTS = 25, 1000

GROUPS = {MetricType.TRAINING: "training", MetricType.VALIDATION: "validation"}

# ---------------------------------------------------------------- names


async def metric_names(call: Call, request: m.ExpMetricNames) -> AsyncIterator[m.ExpMetricNamesAnswer]:
    """Which metrics the trials of these experiments report."""
    if not request.ids:
        raise InvalidConfig("ids: expected at least one experiment; found none")
    found = await experiments(call, request.ids)
    return _names(call, found, request.period_seconds)


async def _names(call: Call, of: Sequence[ChartedExperiment], period: int) -> AsyncIterator[m.ExpMetricNamesAnswer]:
    ids = [one.id for one in of]
    searched = sorted({one.searcher_metric for one in of if one.searcher_metric})
    seen, runs, marks = set[Metric](), dict[int, int](), dict[tuple[int, str], int]()
    async for _ in looks(call, ids, period):
        trials = await queries(call).trials(ids)
        marks = _still_valid(marks, runs, trials)
        rows = await queries(call).names([trial.id for trial in trials], marks)
        marks |= {(row.trial_id, row.group): row.last for row in rows}
        new = _metrics_of(rows) - seen
        seen |= new
        yield _named(sorted(new, key=lambda one: (one.group, one.name)), searched)
        searched = []


def _still_valid(
    marks: Mapping[tuple[int, str], int], runs: dict[int, int], trials: Sequence[ChartedTrial]
) -> dict[tuple[int, str], int]:
    """Without those of trials that began another run, which may report the same steps again. Updates `runs`."""
    again = {trial.id for trial in trials if runs.get(trial.id, trial.run_id) != trial.run_id}
    runs.update({trial.id: trial.run_id for trial in trials})
    return {key: steps for key, steps in marks.items() if key[0] not in again}


def _metrics_of(rows: Sequence[NamedMetrics]) -> set[Metric]:
    return {Metric(row.group, name) for row in rows for name in row.names}


def _named(metrics: Sequence[Metric], searched: Sequence[str]) -> m.ExpMetricNamesAnswer:
    return m.ExpMetricNamesAnswer(
        searcher_metrics=tuple(searched),
        training_metrics=tuple(one.name for one in metrics if one.group == "training"),
        validation_metrics=tuple(one.name for one in metrics if one.group == "validation"),
        metric_names=tuple(m.MetricIdentifier(group=one.group, name=one.name) for one in metrics),
    )


# ---------------------------------------------------------------- batches


async def metric_batches(call: Call, request: m.MetricBatches) -> AsyncIterator[m.MetricBatchesAnswer]:
    """At which batches the trials of an experiment reported a metric."""
    metric = _metric(request)
    await experiments(call, [request.experiment_id])
    return _batches(call, request.experiment_id, metric, request.period_seconds)


async def _batches(call: Call, of: int, metric: Metric, period: int) -> AsyncIterator[m.MetricBatchesAnswer]:
    seen, marks, runs = set[int](), dict[tuple[int, str], int](), dict[int, int]()
    async for _ in looks(call, [of], period):
        trials = await queries(call).trials([of])
        marks = _still_valid(marks, runs, trials)
        after = {trial.id: marks.get((trial.id, metric.group), BEFORE_ALL_STEPS) for trial in trials}
        while True:
            rows = await queries(call).batches(metric, after, BATCHES_MOST)
            after |= dict(rows)  # of each trial the last: they come in order
            new = sorted({batches_of(steps) for _, steps in rows} - seen)
            seen.update(new[: max(SEEN_MOST - len(seen), 0)])
            yield m.MetricBatchesAnswer(batches=tuple(new))
            if len(rows) < BATCHES_MOST:
                break
        marks = {(trial, metric.group): steps for trial, steps in after.items()}


# ---------------------------------------------------------------- sample


async def trials_sample(call: Call, request: m.TrialsSample) -> AsyncIterator[m.TrialsSampleAnswer]:
    """The curves of the best trials of a search."""
    metric = _metric(request)
    (found,) = await experiments(call, [request.experiment_id])
    if found.searcher_type == "single":
        raise InvalidConfig(
            f"experimentId: expected a search of several trials; experiment {found.id} has a single one, whose curve "
            "CompareTrials shows"
        )
    return _samples(call, found, metric, request)


async def _samples(
    call: Call, of: ChartedExperiment, metric: Metric, request: m.TrialsSample
) -> AsyncIterator[m.TrialsSampleAnswer]:
    marks: dict[int, tuple[int, int]] = {}
    async for _ in looks(call, [of.id], request.period_seconds):
        trials = best(await queries(call).trials([of.id]), of, request.max_trials or SAMPLED_TRIALS)
        changed = change(marks, [trial.id for trial in trials])
        marks = {trial.id: marks.get(trial.id, (0, BEFORE_ALL_STEPS)) for trial in trials}
        sampled = []
        for trial in trials:
            run, after = marks[trial.id]
            points = await _points(call, trial, metric, request, after if run == trial.run_id else BEFORE_ALL_STEPS)
            marks[trial.id] = trial.run_id, points[-1].steps if points else after
            if points or trial.id in changed.promoted:
                sampled.append(_sampled(trial, metric, points))
        yield m.TrialsSampleAnswer(
            trials=tuple(sampled), promoted_trials=changed.promoted, demoted_trials=changed.demoted
        )


async def _points(
    call: Call, trial: ChartedTrial, metric: Metric, request: m.TrialsSample, after: int
) -> Sequence[ChartPoint]:
    most = request.max_datapoints or SAMPLED_POINTS
    wanted = Stretch(after, request.start_batches, request.end_batches, most)
    return await queries(call).points(trial.id, metric, wanted)


def _sampled(trial: ChartedTrial, metric: Metric, points: Sequence[ChartPoint]) -> m.SampledTrial:
    data = [
        DataPoint(batches=batches_of(point.steps), values={metric.name: point.value}, time=point.reported_at)
        for point in points
    ]
    return m.SampledTrial(trial_id=trial.id, hparams=trial.hparams, data=tuple(data))


# ---------------------------------------------------------------- snapshot


async def trials_snapshot(call: Call, request: m.TrialsSnapshot) -> AsyncIterator[m.TrialsSnapshotAnswer]:
    """A metric of all trials of an experiment at one number of batches."""
    metric = _metric(request)
    await experiments(call, [request.experiment_id])
    return _snapshots(call, metric, request)


async def _snapshots(call: Call, metric: Metric, request: m.TrialsSnapshot) -> AsyncIterator[m.TrialsSnapshotAnswer]:
    sent: dict[int, ChartPoint] = {}
    async for _ in looks(call, [request.experiment_id], request.period_seconds):
        trials = {trial.id: trial for trial in await queries(call).trials([request.experiment_id])}
        found = await queries(call).nearest(list(trials), metric, request.batches_processed, request.batches_margin)
        new = {trial: point for trial, point in found.items() if sent.get(trial) != point}
        sent |= new
        yield m.TrialsSnapshotAnswer(trials=tuple(_at(trials[trial], new[trial]) for trial in sorted(new)))


def _at(trial: ChartedTrial, point: ChartPoint) -> m.TrialAtBatches:
    return m.TrialAtBatches(
        trial_id=trial.id, hparams=trial.hparams, metric=point.value, batches_processed=batches_of(point.steps)
    )


def _metric(request: m.OfOneMetric) -> Metric:
    """Raises InvalidConfig, naming the field."""
    if not request.metric_name:
        raise InvalidConfig("metricName: expected the name of a metric; found none")
    typed = request.metric_type is not MetricType.UNSPECIFIED
    if typed and request.group:
        raise InvalidConfig(
            f"group, metricType: expected one of them; found {request.group!r} and {request.metric_type}"
        )
    group = GROUPS.get(request.metric_type, "") if typed else request.group
    if not group:
        raise InvalidConfig("group: expected the group of the metric, such as training or validation; found none")
    return Metric(group, request.metric_name)


# ---------------------------------------------------------------- routes

VIEW = SIGNED_IN.to("experiment.view")
OF_EXPERIMENT = "/api/v1/experiments/{experimentId}/metrics-stream"

ROUTES = (
    stream(
        "ExpMetricNames",
        "GET",
        "/api/v1/experiments/metrics-stream/metric-names",
        metric_names,
        VIEW.about("experiment", "query.ids"),
        request=m.ExpMetricNames,
        response=m.ExpMetricNamesAnswer,
        tag="Internal",
    ),
    stream(
        "MetricBatches",
        "GET",
        f"{OF_EXPERIMENT}/batches",
        metric_batches,
        VIEW.about("experiment", "experimentId"),
        request=m.MetricBatches,
        response=m.MetricBatchesAnswer,
        tag="Internal",
    ),
    stream(
        "TrialsSample",
        "GET",
        f"{OF_EXPERIMENT}/trials-sample",
        trials_sample,
        VIEW.about("experiment", "experimentId"),
        request=m.TrialsSample,
        response=m.TrialsSampleAnswer,
        tag="Internal",
    ),
    stream(
        "TrialsSnapshot",
        "GET",
        f"{OF_EXPERIMENT}/trials-snapshot",
        trials_snapshot,
        VIEW.about("experiment", "experimentId"),
        request=m.TrialsSnapshot,
        response=m.TrialsSnapshotAnswer,
        tag="Internal",
    ),
)

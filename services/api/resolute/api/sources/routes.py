"""The use of checkpoints by trials: trials report it, and people read what these trials measured."""

from __future__ import annotations

from collections.abc import Iterable

from resolute.api.call import Call
from resolute.api.checkpoints.lookup import experiment_of
from resolute.api.kernel.operations import operation
from resolute.api.metrics.messages import MetricsReport
from resolute.api.metrics.reading import queries as metrics
from resolute.api.metrics.reading import shown
from resolute.api.models.queries import QUERIES as MODELS
from resolute.api.routing import OWNERS, SIGNED_IN, TASK
from resolute.api.sources import messages as m
from resolute.api.sources.queries import QUERIES, SourceQueries
from resolute.api.trials import lookup
from resolute.api.trials.outside import check_reporter
from resolute.proto.checkpoint import NoteCheckpointUse
from resolute.proto.errors import InvalidConfig, NotFound

REPORTS_MOST = 1000
"""Of each trial."""
TRIALS_MOST = 100
"""The newest, where there are more."""

USES = {
    m.SourceType.UNSPECIFIED: "",
    m.SourceType.INFERENCE: "INFERENCE",
    m.SourceType.FINE_TUNING: "FINE_TUNING",
}


async def report_source(call: Call, request: m.ReportTrialSourceInfo) -> m.ReportedAnswer:
    """Note that a trial uses a checkpoint. A second report about the same two replaces the first."""
    info = request.body.trial_source_info
    if info is None:
        raise InvalidConfig("trialSourceInfo: expected an object with trialId, checkpointUuid and trialSourceInfoType")
    if not USES[info.trial_source_info_type]:
        expected = " or ".join(kind.value for kind, use in USES.items() if use)
        raise InvalidConfig(f"trialSourceInfo.trialSourceInfoType: expected {expected}; found none")
    trial = await lookup.trial(call.gateway, info.trial_id)
    check_reporter(call, trial)
    owner = await experiment_of(call, info.checkpoint_uuid)
    model_id, version = await _version(call, info)
    use = USES[info.trial_source_info_type]
    await call.send(
        NoteCheckpointUse(owner, info.checkpoint_uuid, trial.trial_id, trial.experiment_id, use, model_id, version)
    )
    return m.ReportedAnswer(trial_id=trial.trial_id, checkpoint_uuid=info.checkpoint_uuid)


async def _version(call: Call, info: m.TrialSourceInfo) -> tuple[int, int]:
    """The model and its version, 0 and 0 for none. Raises InvalidConfig where the checkpoint is not that version."""
    model_id, version = info.model_id or 0, info.model_version or 0
    if not model_id and not version:
        return 0, 0
    found = await call.gateway.ports.of(MODELS).version(model_id, version)
    if found is None or found.checkpoint != info.checkpoint_uuid:
        raise InvalidConfig(
            f"trialSourceInfo.modelVersion: expected a version of model {model_id} that is checkpoint "
            f"{info.checkpoint_uuid}; found {version}"
        )
    return model_id, version


async def by_checkpoint(call: Call, request: m.GetTrialMetricsByCheckpoint) -> m.MetricsByCheckpointAnswer:
    """What trials reported that use a checkpoint: 1,000 reports of each at most."""
    await experiment_of(call, request.checkpoint_uuid)
    scope, use = call.scope_of("experiment.view"), USES[request.trial_source_info_type]
    trials = await _queries(call).of_checkpoint(scope, request.checkpoint_uuid, use, TRIALS_MOST)
    return m.MetricsByCheckpointAnswer(metrics=await _reports(call, trials, request.metric_group))


async def by_version(call: Call, request: m.GetTrialMetricsByModelVersion) -> m.MetricsByModelVersionAnswer:
    """What trials reported that use a version of a model: 1,000 reports of each at most."""
    models, number = call.gateway.ports.of(MODELS), request.model_version_num
    model = await models.model(request.model_name)
    if model is None:
        raise NotFound(f"model {request.model_name!r} not found")
    if await models.version(model.id, number) is None:
        raise NotFound(f"version {number} of model {request.model_name!r} not found")
    scope, use = call.scope_of("experiment.view"), USES[request.trial_source_info_type]
    trials = await _queries(call).of_version(scope, model.id, number, use, TRIALS_MOST)
    return m.MetricsByModelVersionAnswer(metrics=await _reports(call, trials, request.metric_group))


async def _reports(call: Call, trial_ids: Iterable[int], group: str) -> tuple[MetricsReport, ...]:
    """By trial, group and step."""
    found: list[MetricsReport] = []
    for trial_id in sorted(trial_ids):
        left = REPORTS_MOST
        for one in [group] if group else await metrics(call).groups(trial_id):
            async for page in metrics(call).reports(trial_id, one):
                found += map(shown, page[:left])
                left -= min(len(page), left)
                if not left:
                    break
            if not left:
                break
    return tuple(found)


def _queries(call: Call) -> SourceQueries:
    return call.gateway.ports.of(QUERIES)


INFO = "body.trialSourceInfo"

ROUTES = (
    operation(
        "ReportTrialSourceInfo",
        "POST",
        "/api/v1/trial-source-info",
        report_source,
        (TASK | OWNERS)
        .to("experiment.edit")
        .about("trial", f"{INFO}.trialId")
        .about("readable checkpoint", f"{INFO}.checkpointUuid", to="checkpoint.view"),
        request=m.ReportTrialSourceInfo,
        response=m.ReportedAnswer,
        tag="Internal",
    ),
    operation(
        "GetTrialMetricsByCheckpoint",
        "GET",
        "/api/v1/checkpoints/{checkpointUuid}/metrics",
        by_checkpoint,
        SIGNED_IN.to("checkpoint.view").showing("experiment.view").about("checkpoint", "checkpointUuid"),
        request=m.GetTrialMetricsByCheckpoint,
        response=m.MetricsByCheckpointAnswer,
        tag="Internal",
    ),
    operation(
        "GetTrialMetricsByModelVersion",
        "GET",
        "/api/v1/models/{modelName}/versions/{modelVersionNum}/metrics",
        by_version,
        SIGNED_IN.to("model.view").showing("experiment.view").about("model", "modelName"),
        request=m.GetTrialMetricsByModelVersion,
        response=m.MetricsByModelVersionAnswer,
        tag="Internal",
    ),
)

"""What a running trial reports of itself: its progress, its state, its metadata, and that it ends early."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.measures.metrics import json_text
from resolute.api.trials import lookup
from resolute.api.trials.messages import (
    EarlyExitReason,
    GetRunMetadata,
    NewRunMetadataAnswer,
    PostRunMetadata,
    PostTrialRunnerMetadata,
    ReportTrialProgress,
    ReportTrialSearcherEarlyExit,
    RunMetadataAnswer,
    RunPrepareForReporting,
    RunStartAnswer,
)
from resolute.api.trials.outside import check_reporter
from resolute.api.trials.queries import QUERIES
from resolute.api.trials.shown import metadata_of
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import ChangeTrialMetadata, ReportEarlyExit
from resolute.proto.states import EarlyExit


async def _reported(call: Call, trial_id: int) -> None:
    check_reporter(call, await lookup.trial(call.gateway, trial_id))


async def report_progress(call: Call, request: ReportTrialProgress) -> Empty:
    await _reported(call, request.trial_id)
    if request.body.progress is None:
        raise InvalidConfig("progress: expected a number from 0 to 1; found None")
    await call.gateway.measured.note(request.trial_id, progress=float(request.body.progress))
    return Empty()


async def post_runner_metadata(call: Call, request: PostTrialRunnerMetadata) -> Empty:
    await _reported(call, request.trial_id)
    await call.gateway.measured.note(request.trial_id, runner_state=request.body.state)
    return Empty()


async def get_run_metadata(call: Call, request: GetRunMetadata) -> RunMetadataAnswer:
    trial = await lookup.trial(call.gateway, request.run_id)
    recorded = await call.gateway.ports.of(QUERIES).metadata(trial.trial_id)
    summary = await call.gateway.measured.summaries([trial.trial_id], trial.metric, trial.smaller_is_better)
    return RunMetadataAnswer(metadata=metadata_of(recorded, summary[trial.trial_id]) or {})


async def post_run_metadata(call: Call, request: PostRunMetadata) -> NewRunMetadataAnswer:
    trial = await lookup.trial(call.gateway, request.run_id)
    metadata = request.body.metadata
    if metadata is None:
        raise InvalidConfig("metadata: expected an object")
    recorded = orjson.loads(json_text(metadata))
    await call.send(ChangeTrialMetadata(trial.experiment_id, trial.trial_id, recorded))
    return NewRunMetadataAnswer(metadata=metadata)


EARLY_EXITS: Mapping[EarlyExitReason, EarlyExit] = {
    EarlyExitReason.UNSPECIFIED: EarlyExit.USER_REQUESTED_STOP,
    EarlyExitReason.INVALID_HP: EarlyExit.INVALID_HP,
    EarlyExitReason.INIT_INVALID_HP: EarlyExit.INVALID_HP,
    EarlyExitReason.USER_REQUESTED_STOP: EarlyExit.USER_REQUESTED_STOP,
    EarlyExitReason.MISCONFIGURED: EarlyExit.MISCONFIGURED,
}


async def report_early_exit(call: Call, request: ReportTrialSearcherEarlyExit) -> Empty:
    trial = await lookup.trial(call.gateway, request.trial_id)
    await call.send(ReportEarlyExit(trial.experiment_id, trial.trial_id, EARLY_EXITS[request.body.reason]))
    return Empty()


async def prepare_for_reporting(call: Call, request: RunPrepareForReporting) -> RunStartAnswer:
    """The run has begun to report. Where it keeps its checkpoints is in its configuration already."""
    await _reported(call, request.body.run_id)
    return RunStartAnswer()

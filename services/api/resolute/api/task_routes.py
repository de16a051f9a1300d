"""The routes a running trial calls: its progress, its metadata, and an early exit."""

from __future__ import annotations

from typing import Any

import orjson

from resolute.api import lookup
from resolute.api.call import Call
from resolute.api.measures.metrics import json_text
from resolute.api.routing import OWNERS, SIGNED_IN, TASK, Route
from resolute.api.tasks.runs import OWN_TRIAL
from resolute.api.views.trials import metadata_of
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import ChangeTrialMetadata, ReportEarlyExit
from resolute.proto.states import EarlyExit

# ---------------------------------------------------------------- what a trial says


async def progress(call: Call) -> dict[str, Any]:
    trial_id = call.int("trialId")
    await lookup.trial(call.gateway, trial_id)
    value = call.body.get("progress", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidConfig(f"progress: expected a number from 0 to 1; found {value!r}")
    await call.gateway.measured.note(trial_id, progress=float(value))
    return {}


async def runner_metadata(call: Call) -> dict[str, Any]:
    trial_id = call.int("trialId")
    await lookup.trial(call.gateway, trial_id)
    await call.gateway.measured.note(trial_id, runner_state=str(call.body.get("state", "")))
    return {}


async def get_run_metadata(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("runId"))
    recorded = await call.gateway.read.value("SELECT metadata FROM read_trials.trials WHERE id = $1", trial.trial_id)
    summary = await call.gateway.measured.summaries([trial.trial_id], trial.metric, trial.smaller_is_better)
    return {"metadata": metadata_of(recorded, summary[trial.trial_id]) or {}}


async def post_run_metadata(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("runId"))
    metadata = call.body.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidConfig("metadata: expected an object")
    as_kept = orjson.loads(json_text(metadata))
    await call.send(ChangeTrialMetadata(trial.experiment_id, trial.trial_id, as_kept))
    return {"metadata": metadata}


_EARLY_EXITS = {
    "EXITED_REASON_INVALID_HP": EarlyExit.INVALID_HP,
    "EXITED_REASON_INIT_INVALID_HP": EarlyExit.INVALID_HP,
    "EXITED_REASON_USER_REQUESTED_STOP": EarlyExit.USER_REQUESTED_STOP,
    "EXITED_REASON_MISCONFIGURED": EarlyExit.MISCONFIGURED,
    "EXITED_REASON_UNSPECIFIED": EarlyExit.USER_REQUESTED_STOP,
}


async def early_exit(call: Call) -> dict[str, Any]:
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    reason = str(call.body.get("reason") or "EXITED_REASON_UNSPECIFIED")
    if reason not in _EARLY_EXITS:
        raise InvalidConfig(f"reason: expected one of {', '.join(_EARLY_EXITS)}; found {reason!r}")
    await call.send(ReportEarlyExit(trial.experiment_id, trial.trial_id, _EARLY_EXITS[reason]))
    return {}


async def prepare_for_reporting(call: Call) -> dict[str, Any]:
    """The run has begun to report. Where it keeps its checkpoints is in its configuration already."""
    await lookup.trial(call.gateway, _run_id(call.body))
    return {}


def _run_id(body: dict[str, Any]) -> int:
    try:
        return int(body["runId"])
    except (KeyError, TypeError, ValueError):
        raise InvalidConfig(f"runId: expected a trial's id; found {body.get('runId')!r}") from None


API = "/api/v1"

ROUTES = (
    Route("ReportTrialProgress", "POST", f"{API}/trials/{{trialId}}/progress", progress, OWN_TRIAL),
    Route("PostTrialRunnerMetadata", "POST", f"{API}/trials/{{trialId}}/runner/metadata", runner_metadata, OWN_TRIAL),
    Route("ReportTrialSearcherEarlyExit", "POST", f"{API}/trials/{{trialId}}/early_exit", early_exit, OWN_TRIAL),
    Route(
        "RunPrepareForReporting",
        "POST",
        f"{API}/runs/start",
        prepare_for_reporting,
        TASK.to("experiment.edit").about("trial", "body.runId"),
    ),
    Route(
        "GetRunMetadata",
        "GET",
        f"{API}/runs/{{runId}}/metadata",
        get_run_metadata,
        SIGNED_IN.to("experiment.view") | TASK.about("trial", "runId"),
    ),
    Route(
        "PostRunMetadata",
        "POST",
        f"{API}/runs/{{runId}}/metadata",
        post_run_metadata,
        (TASK | OWNERS).about("trial", "runId").to("experiment.edit"),
    ),
)

"""Previewing which checkpoints of an experiment a retention policy would delete."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.checkpoints.reading import several
from resolute.api.experiments.presenting import outline_of
from resolute.api.routing import SIGNED_IN, Route
from resolute.proto.checkpoint import ApplyRetention


async def preview_gc(call: Call) -> dict[str, Any]:
    """Which checkpoints a retention policy would delete."""
    experiment = await outline_of(call, call.int("experimentId"))
    reply = await call.send(
        ApplyRetention(
            experiment_id=experiment.id,
            save_experiment_best=call.query.number("saveExperimentBest"),
            save_trial_best=call.query.number("saveTrialBest"),
            save_trial_latest=call.query.number("saveTrialLatest"),
            smaller_is_better=experiment.smaller_is_better,
            preview=True,
        )
    )
    checkpoints = await several(call, reply.data["deleted"])
    return {"checkpoints": checkpoints, "metric_name": experiment.searcher_metric}


VIEW = SIGNED_IN.to("experiment.view").about("experiment", "experimentId")

ROUTES = (Route("PreviewGC", "GET", "/experiments/{experimentId}/preview_gc", preview_gc, VIEW),)

"""Previews: how many trials a configuration would make and how long each would train, and which checkpoints a retention
policy would delete."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.checkpoints.queries import QUERIES as CHECKPOINTS
from resolute.api.checkpoints.shown import shown
from resolute.api.experiments.placing import defaults_at
from resolute.api.experiments.presenting import outline_of
from resolute.api.experiments.preview_messages import (
    PreviewAnswer,
    PreviewGC,
    PreviewGCAnswer,
    PreviewHPSearch,
    SearchSummary,
    SearchUnit,
    TrialSummary,
)
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN
from resolute.config import ClusterDefaults, ExperimentConfig, masked, parse_experiment
from resolute.config.bounds import check_document
from resolute.proto.checkpoint import ApplyRetention
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import PreviewSearch


async def preview_search(call: Call, request: PreviewHPSearch) -> PreviewAnswer:
    """Play a search through without training anything, and count its trials by how far they would get."""
    given = request.body.config
    if given is None or not given.get("searcher"):
        raise InvalidConfig("config.searcher: missing. Send the experiment's configuration, as an object.")
    config = await asyncio.to_thread(_read, given, defaults_at(call))
    merged = masked(config.merged)
    reply = await call.send(PreviewSearch(merged, request.body.seed or config.experiment_seed))
    trials = tuple(_trials(one, reply.data["unit"]) for one in reply.data["trials"])
    return PreviewAnswer(summary=SearchSummary(config=merged["searcher"], trials=trials))


def _read(given: Mapping[str, Any], defaults: ClusterDefaults) -> ExperimentConfig:
    """A preview runs nothing, so that nothing to run needs to be named."""
    check_document(given)
    return parse_experiment(dict(given), defaults, managed=False)


def _trials(of_one_length: Mapping[str, Any], unit: str) -> TrialSummary:
    length = SearchUnit(max_length=True)
    if not of_one_length["full"]:
        length = SearchUnit(max_length=False, name=unit, value=of_one_length["length"])
    return TrialSummary(count=of_one_length["count"], unit=length)


async def preview_gc(call: Call, request: PreviewGC) -> PreviewGCAnswer:
    """Which checkpoints a retention policy would delete."""
    experiment = await outline_of(call, request.experiment_id)
    reply = await call.send(
        ApplyRetention(
            experiment_id=experiment.id,
            save_experiment_best=request.save_experiment_best,
            save_trial_best=request.save_trial_best,
            save_trial_latest=request.save_trial_latest,
            smaller_is_better=experiment.smaller_is_better,
            preview=True,
        )
    )
    found = await call.gateway.ports.of(CHECKPOINTS).several(reply.data["deleted"])
    return PreviewGCAnswer(checkpoints=tuple(map(shown, found)), metric_name=experiment.searcher_metric)


PREVIEWING = (
    operation(
        "PreviewHPSearch",
        "POST",
        "/api/v1/preview-hp-search",
        preview_search,
        SIGNED_IN.to("experiment.create").oneself(),
        request=PreviewHPSearch,
        response=PreviewAnswer,
        tag="Experiments",
        body=CONFIGURATION,
    ),
    operation(
        "PreviewGC",
        "GET",
        "/experiments/{experimentId}/preview_gc",
        preview_gc,
        SIGNED_IN.to("experiment.view").about("experiment", "experimentId"),
        request=PreviewGC,
        response=PreviewGCAnswer,
        tag="Outside /api/v1",
    ),
)

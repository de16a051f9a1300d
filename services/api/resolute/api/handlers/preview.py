"""Previewing a search: how many trials a configuration would make, and how long each would train."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.experiments.placing import defaults_at
from resolute.api.routing import SIGNED_IN, Route
from resolute.config import ClusterDefaults, ExperimentConfig, masked, parse_experiment
from resolute.config.bounds import check_document
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import PreviewSearch


async def preview_search(call: Call) -> dict[str, Any]:
    """Play a search through without training anything, and count its trials by how far they would get."""
    given = call.body.get("config")
    if not isinstance(given, Mapping) or not given.get("searcher"):
        raise InvalidConfig("config.searcher: missing. Send the experiment's configuration, as an object.")
    # A preview runs nothing, so that nothing to run needs to be named.
    config = await asyncio.to_thread(_read, given, defaults_at(call))
    seed = int(call.body.get("seed") or config.experiment_seed)
    reply = await call.send(PreviewSearch(masked(config.merged), seed))
    unit = reply.data["unit"]
    trials = [_trial_json(one, unit) for one in reply.data["trials"]]
    return {"summary": {"config": masked(config.merged)["searcher"], "trials": trials}}


def _read(given: Mapping[str, Any], defaults: ClusterDefaults) -> ExperimentConfig:
    check_document(given)
    return parse_experiment(dict(given), defaults, managed=False)


def _trial_json(one: Mapping[str, Any], unit: str) -> dict[str, Any]:
    length = {"maxLength": True} if one["full"] else {"maxLength": False, "name": unit, "value": one["length"]}
    return {"count": one["count"], "unit": length}


ROUTES = (
    Route(
        "PreviewHPSearch",
        "POST",
        "/api/v1/preview-hp-search",
        preview_search,
        SIGNED_IN.to("experiment.create").oneself(),
        body=CONFIGURATION,
    ),
)

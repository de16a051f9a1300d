"""Continuing an experiment that has ended: its configuration, with what the caller overrides, goes to the searcher."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.experiments.presenting import experiment_for
from resolute.api.experiments.projection import CONFIG_PATHS
from resolute.api.handlers.admission import check_resources
from resolute.api.handlers.create import launch_warnings
from resolute.api.handlers.placing import defaults_at
from resolute.api.routing import OWNERS, Route
from resolute.api.views.experiments import row_of
from resolute.config import MASK, changed, load_yaml, override, secrets_of, value_at
from resolute.config.without_effect import without_effect
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import ContinueExperiment


async def continue_experiment(call: Call) -> dict[str, Any]:
    """Let an experiment that has ended go on: trials that did not complete, or its only one, run again from their last
    checkpoint, under the configuration it had and what `overrideConfig` says instead."""
    experiment_id = call.body.get("id")
    if experiment_id is None:
        raise InvalidConfig("id: the experiment to continue is missing")
    row = await row_of(call.gateway.read, int(experiment_id))
    changes = await asyncio.to_thread(load_yaml, str(call.body.get("overrideConfig") or ""))
    managed = not row["unmanaged"]
    current, _ = await call.gateway.vault.opened(orjson.loads(row["config"]))
    defaults, given = defaults_at(call), _unmasked(changes, current)
    config = await asyncio.to_thread(override, current, given, defaults, managed=managed)
    fits = await check_resources(call, config.resources)
    sealed = await call.gateway.vault.sealed(config.merged, "", row["owner_id"], {})
    async with call.gateway.vault.unless_refused(sealed):
        await call.send(continuing(int(experiment_id), sealed.config, current))
    experiment = await experiment_for(call, int(experiment_id))
    told = without_effect(changes, call.gateway.settings.task_runtime)
    return {"experiment": experiment, **await launch_warnings(call, config, fits), "configWarnings": told}


def continuing(experiment_id: int, config: dict[str, Any], before: dict[str, Any]) -> ContinueExperiment:
    """The command, which says how `config` differs from `before`, the configuration that this gateway has read: what
    is edited meanwhile and not overridden stays edited."""
    overridden = [name for name, path in CONFIG_PATHS.items() if value_at(config, path) != value_at(before, path)]
    added = sorted(set(config["labels"]) - set(before.get("labels") or ()))
    said = tuple(name for name in overridden if name != "labels")
    return ContinueExperiment(experiment_id, config, said, tuple(added))


def _unmasked(changes: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """`changes`, where a mask stands for the secret that is there already."""
    there = dict(secrets_of(current))
    return changed(changes, lambda place, value: there.get(place, value) if value == MASK else value)


ROUTES = (
    Route(
        "ContinueExperiment",
        "POST",
        "/api/v1/experiments/continue",
        continue_experiment,
        # It runs with the owner's environment variables, and the caller may choose which program reads them.
        OWNERS.to("experiment.edit").about("experiment", "body.id"),
        body=CONFIGURATION,
    ),
)

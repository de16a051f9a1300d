"""Continuing an experiment that has ended: its configuration, with what the caller overrides, goes to the searcher."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import orjson

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.experiments.admission import check_resources
from resolute.api.experiments.creating import CREATION, PUTTING, launch_warnings
from resolute.api.experiments.placing import defaults_at, submitted_of
from resolute.api.experiments.presenting import experiment_for, outline_of
from resolute.api.experiments.projection import CONFIG_PATHS
from resolute.api.experiments.submission_messages import ContinuedExperimentAnswer, ContinueExperiment
from resolute.api.experiments.submission_queries import SubmittedRow
from resolute.api.kernel.operations import operation
from resolute.api.kernel.reading import expect_given
from resolute.api.policies.holding import policies_in
from resolute.api.routing import OWNERS
from resolute.config import MASK, ClusterDefaults, ExperimentConfig, changed, load_yaml, override, secrets_of, value_at
from resolute.config.without_effect import without_effect
from resolute.proto import experiment as commands


async def continue_experiment(call: Call, request: ContinueExperiment) -> ContinuedExperimentAnswer:
    """Let an experiment that has ended go on: trials that did not complete, or its only one, run again from their last
    checkpoint, under the configuration it had and what `overrideConfig` says instead."""
    experiment_id = expect_given(request.body.id, "id")
    row = await submitted_of(call, experiment_id)
    changes = await asyncio.to_thread(load_yaml, request.body.override_config)
    current, _ = await call.gateway.vault.opened(orjson.loads(row.config))
    workspace_id = (await outline_of(call, experiment_id)).workspace_id
    policies = await policies_in(call, workspace_id)
    defaults = replace(defaults_at(call), invariants=policies.invariants)
    config = await _overridden(current, changes, defaults, managed=not row.unmanaged)
    fits = await check_resources(call, config.resources, workspace_id)
    policies.check(config.merged["resources"])
    await _continue(call, row, config, current)
    return ContinuedExperimentAnswer(
        experiment=await experiment_for(call, experiment_id),
        config_warnings=tuple(without_effect(changes, call.gateway.settings.task_runtime)),
        warnings=await launch_warnings(call, config, fits=fits),
    )


async def _overridden(
    current: dict[str, Any], changes: dict[str, Any], defaults: ClusterDefaults, *, managed: bool
) -> ExperimentConfig:
    given = _unmasked(changes, current)
    return await asyncio.to_thread(override, current, given, defaults, managed=managed)


async def _continue(call: Call, row: SubmittedRow, config: ExperimentConfig, current: dict[str, Any]) -> None:
    vault = call.gateway.vault
    sealed = await vault.sealed(config.merged, "", row.owner_id, {})
    async with vault.unless_refused(sealed):
        await call.send(continuing(row.id, sealed.config, current))


def continuing(experiment_id: int, config: dict[str, Any], before: dict[str, Any]) -> commands.ContinueExperiment:
    """The command, which says how `config` differs from `before`, the configuration that this gateway has read: what
    is edited meanwhile and not overridden stays edited."""
    overridden = [name for name, path in CONFIG_PATHS.items() if value_at(config, path) != value_at(before, path)]
    added = sorted(set(config["labels"]) - set(before.get("labels") or ()))
    others = tuple(name for name in overridden if name != "labels")
    return commands.ContinueExperiment(experiment_id, config, others, tuple(added))


def _unmasked(changes: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """`changes`, where a mask stands for the secret that is there already."""
    there = dict(secrets_of(current))
    return changed(changes, lambda place, value: there.get(place, value) if value == MASK else value)


SUBMISSIONS = (
    CREATION,
    PUTTING,
    operation(
        "ContinueExperiment",
        "POST",
        "/api/v1/experiments/continue",
        continue_experiment,
        # It runs with the owner's environment variables, and the caller may choose which program reads them.
        OWNERS.to("experiment.edit").about("experiment", "body.id"),
        request=ContinueExperiment,
        response=ContinuedExperimentAnswer,
        tag="Internal",
        body=CONFIGURATION,
    ),
)

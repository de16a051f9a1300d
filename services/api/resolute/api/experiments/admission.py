"""What only the cluster can check of a configuration: that its pool exists and could hold a trial, that its storage can
be opened, and that what its trials start from is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from resolute.api.call import Call
from resolute.api.experiments.placing import submissions_of
from resolute.api.experiments.submission_queries import CheckpointRow
from resolute.api.pools.fit import check_bound, check_fit, check_pool
from resolute.api.settings import ApiSettings
from resolute.config import ExperimentConfig, Slots
from resolute.config.experiment import Resources
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.states import CheckpointState
from resolute.storage import open_storage, place_of


async def admitted(config: ExperimentConfig, call: Call, workspace_id: int | None) -> tuple[ExperimentConfig, bool]:
    """`config` as it will run: a trial to start from has become that trial's latest checkpoint, and where no priority
    is chosen, it is the pool's. And whether its pool could hold a trial: see `check_fit`. `workspace_id`: where the
    experiment goes; None where there is no such project, for which the caller refuses it.

    Raises InvalidConfig or NotFound, with the path of the field, for what this cluster cannot do.
    """
    fits = await check_resources(call, config.resources, workspace_id)
    open_storage(config.checkpoint_storage)
    complete = _with_source(_with_priority(config, call.gateway.settings), await _source(config, call))
    return complete, fits


async def check_resources(call: Call, resources: Resources, workspace_id: int | None) -> bool:
    """Whether the pool could hold a trial: see `check_fit`. Raises InvalidConfig for a pool that is not there, or
    not for the workspace."""
    pool, slots = resources.resource_pool, Slots(resources.slots_min, resources.slots_per_trial)
    check_pool("resources.resource_pool", pool, call.gateway.settings)
    if workspace_id is not None:
        await check_bound(call, "resources.resource_pool", pool, workspace_id)
    return await check_fit(call, "resources.slots_per_trial", pool, slots, single_agent=resources.is_single_node)


def _with_priority(config: ExperimentConfig, settings: ApiSettings) -> ExperimentConfig:
    """Where no priority is chosen, the configuration gets the pool's, so that it says what the queue goes by."""
    if config.resources.priority is not None:
        return config
    priority = settings.scheduler_of(config.resources.resource_pool).default_priority
    resources = {**config.merged["resources"], "priority": priority}
    return replace(
        config,
        resources=replace(config.resources, priority=priority),
        merged={**config.merged, "resources": resources},
    )


def _with_source(config: ExperimentConfig, source: str | None) -> ExperimentConfig:
    if source == config.searcher.source_checkpoint_uuid:
        return config
    # The trial's number goes: two sources would be one too many when this configuration is submitted again.
    searcher = {**config.merged["searcher"], "source_checkpoint_uuid": source, "source_trial_id": None}
    return replace(config, merged={**config.merged, "searcher": searcher})


async def _source(config: ExperimentConfig, call: Call) -> str | None:
    """The checkpoint that the trials start from, if any. Raises NotFound for one outside of the caller's scope."""
    uuid, trial_id = config.searcher.source_checkpoint_uuid, config.searcher.source_trial_id
    if uuid is None and trial_id is None:
        return None
    await call.gateway.read.catch_up()  # what was saved a moment ago counts
    path = "searcher.source_checkpoint_uuid" if uuid is not None else "searcher.source_trial_id"
    kind, value = ("checkpoint", uuid) if uuid is not None else ("trial", str(trial_id))
    await _check_visible(call, path, kind, value)
    found = uuid if uuid is not None else await _latest(call, int(trial_id or 0))
    row = await submissions_of(call).checkpoint(found)
    _check_reachable(path, found, row, config.checkpoint_storage)
    return found


async def _check_visible(call: Call, path: str, kind: str, value: str) -> None:
    """Raises NotFound for what does not exist or lies outside of the caller's scope."""
    try:
        await call.check_visible(kind, value)
    except NotFound as error:
        raise NotFound(f"{path}: {error.message}") from None


def _check_reachable(path: str, uuid: str, row: CheckpointRow | None, storage: Mapping[str, Any]) -> None:
    """Raises ResoluteError unless the checkpoint is complete and lies in the storage where the trials will look."""
    if row is None:
        raise NotFound(f"{path}: checkpoint {uuid!r} not found")
    if row.state != CheckpointState.COMPLETED:
        raise InvalidConfig(f"{path}: expected a checkpoint that is COMPLETED; found {uuid!r}, which is {row.state}")
    there, here = place_of(row.storage), place_of(storage)
    if there != here:
        raise InvalidConfig(
            f"{path}: checkpoint {uuid!r} lies in another storage than checkpoint_storage says ({here}); "
            f"set checkpoint_storage to {there}"
        )


async def _latest(call: Call, trial_id: int) -> str:
    path, queries = "searcher.source_trial_id", submissions_of(call)
    uuid = await queries.latest_checkpoint(trial_id)
    if uuid is not None:
        return uuid
    if not await queries.has_trial(trial_id):
        raise NotFound(f"{path}: trial {trial_id} not found")
    raise InvalidConfig(f"{path}: expected a trial with a completed checkpoint; found {trial_id}, which has none")

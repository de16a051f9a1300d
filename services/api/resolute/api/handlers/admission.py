"""What only the cluster can tell of a submission: whether its pool exists and could ever hold it, its checkpoints have
somewhere to lie, and what it starts from is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import structlog

from resolute import codec
from resolute.api.call import Call
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.settings import ApiSettings
from resolute.config import ExperimentConfig, Slots
from resolute.config.experiment import Resources
from resolute.proto.errors import Failed, InvalidConfig, NotFound, Unavailable
from resolute.proto.pool import CheckFit, Fit
from resolute.proto.states import CheckpointState
from resolute.storage import open_storage, place_of

log_ = structlog.get_logger()

CHECKPOINT = "SELECT state, storage FROM read_checkpoints.checkpoints WHERE uuid = $1"

TRIAL = "SELECT 1 FROM read_trials.trials WHERE id = $1"

LATEST = f"""SELECT uuid FROM read_checkpoints.checkpoints WHERE trial_id = $1 AND state = '{CheckpointState.COMPLETED}'
ORDER BY steps_completed DESC, reported_at DESC, uuid LIMIT 1"""

FIT_TIMEOUT_S = 2.0
"""A scheduler that is away keeps nobody from submitting: it will say what cannot fit when it is back."""


async def admitted(config: ExperimentConfig, call: Call) -> tuple[ExperimentConfig, bool]:
    """`config` as it will run: a trial to start from has become that trial's latest checkpoint, and where nobody chose
    a priority, it is the pool's. And whether its pool could hold a trial: see `check_fit`.

    Raises InvalidConfig or NotFound, with the path of the field, for what this cluster cannot do.
    """
    fits = await check_resources(call, config.resources)
    open_storage(config.checkpoint_storage)
    complete = _with_source(_with_priority(config, call.gateway.settings), await _source(config, call))
    return complete, fits


def check_pool(path: str, name: str, settings: ApiSettings) -> None:
    """Raises InvalidConfig for a pool that the cluster does not have."""
    if name not in settings.pool_names:
        raise InvalidConfig(f"{path}: no pool {name!r}; there are {', '.join(settings.pool_names)}")


async def check_resources(call: Call, resources: Resources) -> bool:
    """Whether the pool could hold a trial: see `check_fit`. Raises InvalidConfig for a pool that is not there."""
    pool, slots = resources.resource_pool, Slots(resources.slots_min, resources.slots_per_trial)
    check_pool("resources.resource_pool", pool, call.gateway.settings)
    return await check_fit(call, "resources.slots_per_trial", pool, slots, single_agent=resources.is_single_node)


async def check_fit(call: Call, path: str, pool: str, slots: Slots, *, single_agent: bool = False) -> bool:
    """Whether the pool could hold it when it is idle. Where it could not, this raises InvalidConfig, saying what would
    fit, unless the setting `launch_error` lets such work in."""
    question = CheckFit(pool, slots.most, single_agent, slots_min=slots.least)
    cause = call.cause.then(f"fit/{pool}/{slots.least}/{slots.most}")
    try:
        reply = await call.gateway.context.bus.request(question, cause, FIT_TIMEOUT_S)
    except (Unavailable, Failed) as error:
        log_.warning("nobody could say whether it fits", pool=pool, slots=slots.least, why=error.message)
        return True
    fit = codec.load(Fit, reply.data)
    if not fit.fits and call.gateway.settings.launch_error:
        remedy = f"; {fit.would_fit}" if fit.would_fit else ""
        asked = slots.most if slots.least == slots.most else f"{slots.least} to {slots.most}"
        raise InvalidConfig(f"{path}: {asked} slots can never run in pool {pool!r}: {fit.why}{remedy}")
    return fit.fits


def _with_priority(config: ExperimentConfig, settings: ApiSettings) -> ExperimentConfig:
    """Where nobody said how urgent it is, the pool does, so that the configuration tells what the queue goes by."""
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
    read = call.gateway.read
    uuid, trial_id = config.searcher.source_checkpoint_uuid, config.searcher.source_trial_id
    if uuid is None and trial_id is None:
        return None
    await read.catch_up()  # what was saved a moment ago counts
    path = "searcher.source_checkpoint_uuid" if uuid is not None else "searcher.source_trial_id"
    kind, value = ("checkpoint", uuid) if uuid is not None else ("trial", str(trial_id))
    await _check_visible(call, path, kind, value)
    found = uuid if uuid is not None else await _latest(read, int(trial_id or 0))
    return await _reachable(read, path, found, config.checkpoint_storage)


async def _check_visible(call: Call, path: str, kind: str, value: str) -> None:
    """Raises NotFound for what does not exist or lies outside of the caller's scope."""
    try:
        await call.check_visible(kind, value)
    except NotFound as error:
        raise NotFound(f"{path}: {error.message}") from None


async def _reachable(read: ReadModel, path: str, uuid: str, storage: Mapping[str, Any]) -> str:
    """The checkpoint, which is whole and lies where the trials will look for it."""
    row = await read.row(CHECKPOINT, uuid)
    if row is None:
        raise NotFound(f"{path}: checkpoint {uuid!r} not found")
    if row["state"] != CheckpointState.COMPLETED:
        raise InvalidConfig(f"{path}: expected a checkpoint that is COMPLETED; found {uuid!r}, which is {row['state']}")
    there, here = place_of(orjson.loads(row["storage"])), place_of(storage)
    if there != here:
        raise InvalidConfig(
            f"{path}: checkpoint {uuid!r} lies in another storage than checkpoint_storage says ({here}); "
            f"set checkpoint_storage to {there}"
        )
    return uuid


async def _latest(read: ReadModel, trial_id: int) -> str:
    path, uuid = "searcher.source_trial_id", await read.value(LATEST, trial_id)
    if uuid is not None:
        return str(uuid)
    if await read.value(TRIAL, trial_id) is None:
        raise NotFound(f"{path}: trial {trial_id} not found")
    raise InvalidConfig(f"{path}: expected a trial with a completed checkpoint; found {trial_id}, which has none")

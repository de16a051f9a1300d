"""What only the cluster can tell of a submission: whether its pool exists, its checkpoints have somewhere to lie, and
what it starts from is there."""

from __future__ import annotations

from dataclasses import replace

from resolute.api.readmodel import ReadModel
from resolute.api.settings import ApiSettings
from resolute.config import ExperimentConfig
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.storage import open_storage

CHECKPOINT = "SELECT state FROM read_v1.checkpoints WHERE uuid = $1"

TRIAL = "SELECT 1 FROM read_v1.trials WHERE id = $1"

LATEST = """SELECT uuid FROM read_v1.checkpoints WHERE trial_id = $1 AND state = 'COMPLETED'
ORDER BY steps_completed DESC, reported_at DESC, uuid LIMIT 1"""


async def admitted(config: ExperimentConfig, settings: ApiSettings, read: ReadModel) -> ExperimentConfig:
    """`config` as it will run, a trial to start from having become that trial's latest checkpoint.

    Raises InvalidConfig or NotFound, with the path of the field, for what this cluster cannot do.
    """
    check_pool("resources.resource_pool", config.resources.resource_pool, settings)
    open_storage(config.checkpoint_storage)
    source = await _source(config, read)
    if source == config.searcher.source_checkpoint_uuid:
        return config
    # The trial's number goes: two sources would be one too many when this configuration is submitted again.
    searcher = {**config.merged["searcher"], "source_checkpoint_uuid": source, "source_trial_id": None}
    return replace(config, merged={**config.merged, "searcher": searcher})


def check_pool(path: str, name: str, settings: ApiSettings) -> None:
    """Raises InvalidConfig for a pool that the cluster does not have."""
    if name not in settings.pool_names:
        raise InvalidConfig(f"{path}: no pool {name!r}; there are {', '.join(settings.pool_names)}")


async def _source(config: ExperimentConfig, read: ReadModel) -> str | None:
    """The checkpoint that the trials start from, if any."""
    uuid, trial_id = config.searcher.source_checkpoint_uuid, config.searcher.source_trial_id
    if uuid is None and trial_id is None:
        return None
    await read.catch_up()  # what was saved a moment ago counts
    if uuid is not None:
        return await _completed(read, uuid)
    return await _latest(read, int(trial_id or 0))


async def _completed(read: ReadModel, uuid: str) -> str:
    path, state = "searcher.source_checkpoint_uuid", await read.value(CHECKPOINT, uuid)
    if state is None:
        raise NotFound(f"{path}: checkpoint {uuid!r} not found")
    if state != "COMPLETED":
        raise InvalidConfig(f"{path}: expected a checkpoint that is COMPLETED; found {uuid!r}, which is {state}")
    return uuid


async def _latest(read: ReadModel, trial_id: int) -> str:
    path, uuid = "searcher.source_trial_id", await read.value(LATEST, trial_id)
    if uuid is not None:
        return str(uuid)
    if await read.value(TRIAL, trial_id) is None:
        raise NotFound(f"{path}: trial {trial_id} not found")
    raise InvalidConfig(f"{path}: expected a trial with a completed checkpoint; found {trial_id}, which has none")

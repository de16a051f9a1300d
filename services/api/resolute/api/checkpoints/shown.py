"""A checkpoint as answers show one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import orjson

from resolute.api.checkpoints.messages import Checkpoint, CheckpointState, TrainingMetadata
from resolute.api.checkpoints.queries import CheckpointRow
from resolute.api.experiments.configurations import without_secrets
from resolute.api.metrics.measured import Metrics
from resolute.proto import states


def shown(row: CheckpointRow) -> Checkpoint:
    return Checkpoint(
        uuid=row.uuid,
        task_id=row.task_id,
        allocation_id=row.allocation_id,
        report_time=row.reported_at,
        resources=files_of(row.state, row.resources),
        metadata=with_steps(row.metadata, row.steps_completed),
        state=CheckpointState(f"STATE_{row.state}"),
        training=_training(row),
        storage_id=storage_id(row.storage),
    )


def _training(row: CheckpointRow) -> TrainingMetadata:
    return TrainingMetadata(
        trial_id=row.trial_id,
        experiment_id=row.experiment_id,
        experiment_config=without_secrets(row.config) if row.config else None,
        hparams=row.hparams,
        training_metrics=Metrics(avg_metrics=row.training or {}),
        validation_metrics=Metrics(avg_metrics=row.validation or {}),
        searcher_metric=row.metric,
    )


def storage_id(storage: Mapping[str, Any]) -> int:
    """A number for the place where files are stored: the same wherever `checkpoint_storage` names the same place,
    whatever it says of how many checkpoints to keep."""
    place = {name: value for name, value in storage.items() if value is not None and not name.startswith("save_")}
    return zlib.crc32(orjson.dumps(place, option=orjson.OPT_SORT_KEYS)) & 0x7FFFFFFF


def files_of(state: str, files: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes of a checkpoint's files. One that is deleted has none, also while its last files are being removed."""
    return {} if state == states.CheckpointState.DELETED else files


def with_steps(metadata: Mapping[str, Any], steps: int) -> Mapping[str, Any]:
    """The metadata as clients get them. They are never empty: clients take empty ones for a checkpoint that does not
    exist."""
    return {"steps_completed": steps, **metadata}

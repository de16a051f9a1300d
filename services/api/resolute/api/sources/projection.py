"""Which trials use which checkpoints: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.checkpoint import CheckpointUsed
from resolute.proto.experiment import ExperimentDeleted
from resolute.proto.message import Event, Recorded


@dataclass(frozen=True, slots=True)
class Use:
    checkpoint: str
    trial_id: int
    experiment_id: int
    """Whose checkpoint it is."""
    by: int
    """The experiment of the trial."""
    use: str
    model_id: int
    model_version: int


USES = Table("uses", Use, key=("checkpoint", "trial_id"), lookups=("experiment_id", "by"))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _used(used: CheckpointUsed, recorded: Recorded, rows: Rows) -> None:
    use = Use(
        checkpoint=used.uuid,
        trial_id=used.trial_id,
        experiment_id=int(recorded.key),
        by=used.by,
        use=used.use,
        model_id=used.model_id,
        model_version=used.model_version,
    )
    rows.put(USES, use)


def _experiment_deleted(_: ExperimentDeleted, recorded: Recorded, rows: Rows) -> None:
    """Both what used its checkpoints, and what its trials used."""
    for lookup in ("experiment_id", "by"):
        for row in rows.where(USES, lookup, int(recorded.key)):
            rows.remove(USES, row.checkpoint, row.trial_id)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    CheckpointUsed: _used,
    ExperimentDeleted: _experiment_deleted,
}
"""How each type of event is shown; others change nothing here."""

PROJECTION = Projection(
    slice="sources",
    version=1,
    tables=(USES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.CHECKPOINTS.name, streams.EXPERIMENT.name}),
    project=project,
)

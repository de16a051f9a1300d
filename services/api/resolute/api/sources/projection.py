"""Which trials use which checkpoints: which rows the log comes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.checkpoint import CheckpointUsed
from resolute.proto.experiment import ExperimentDeleted
from resolute.proto.message import Recorded


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
    match recorded.event:
        case CheckpointUsed() as used:
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
        case ExperimentDeleted():
            for lookup in ("experiment_id", "by"):
                for row in rows.where(USES, lookup, int(recorded.key)):
                    rows.remove(USES, row.checkpoint, row.trial_id)


PROJECTION = Projection(
    slice="sources",
    version=1,
    tables=(USES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.CHECKPOINTS.name, streams.EXPERIMENT.name}),
    project=project,
)

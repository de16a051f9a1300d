"""What modules outside of slices read of experiments."""

from __future__ import annotations

import asyncpg

from resolute.api.experiments.progress import progress_of as experiment_progress
from resolute.api.experiments.queries import EXPERIMENTS
from resolute.api.kernel.readmodel import ReadModel
from resolute.proto.errors import NotFound


async def row_of(read: ReadModel, experiment_id: int) -> asyncpg.Record:
    row = await read.row(f"{EXPERIMENTS} WHERE e.id = $1", experiment_id)
    if row is None:
        raise NotFound(f"experiment {experiment_id} not found")
    return row


def progress_of(row: asyncpg.Record) -> float | None:
    return experiment_progress(
        state=row["state"],
        of_search=row["search_progress"],
        of_trials=row["progress"],
        trials=row["trials"],
        max_trials=row["max_trials"],
    )

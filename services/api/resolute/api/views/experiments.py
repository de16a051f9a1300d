"""What modules outside of slices read of experiments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import asyncpg

from resolute.api.experiments.progress import progress_of as experiment_progress
from resolute.api.experiments.queries import EXPERIMENTS, FROM
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.shown_states import Phase
from resolute.api.views.listing import Where, pattern
from resolute.proto.errors import NotFound
from resolute.proto.states import ExperimentState

COUNT = f"SELECT count(*) {FROM}"

TEXTS = ("name", "description")
"""Columns of which a part may be looked for."""


def kept_as(states: Collection[str]) -> list[str]:
    """The states that experiments are kept under: how far the trials of an active one have come is not among them."""
    return sorted({ExperimentState.ACTIVE if name in tuple(Phase) else name for name in states})


def narrow(
    where: Where, texts: Mapping[str, str | None], labels: Sequence[str] | None, user_ids: Sequence[int] | None
) -> None:
    """The conditions that lists of experiments and actions on many have in common. `texts`: parts of the name and of
    the description. What is empty is no condition."""
    for column, text in texts.items():
        if text:
            where.add(f"e.{column} ILIKE ?", pattern(text))
    if labels:
        where.add("e.labels @> ?::text[]", labels)
    if user_ids:
        where.add("e.owner_id = ANY(?::int[])", user_ids)


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

"""What can be asked about the use of the cluster: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

import asyncpg

from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Outside


@dataclass(frozen=True, slots=True)
class HeldRow:
    """An allocation that held slots, with the part of its time that lies between two instants."""

    allocation_id: str
    task_type: str
    owner: str
    owner_id: int | None
    """None for a user who is unknown."""
    experiment_id: int | None
    slots: int
    pool: str
    labels: tuple[str, ...]
    workspace: str
    """Its name; empty where it is unknown."""
    began_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Sum:
    began_at: datetime
    """The beginning of the day or of the month."""
    key: str
    seconds: float
    """Slot-seconds."""


class By(Enum):
    """What slot-seconds are summed over; the value is the column."""

    OWNER = "owner"
    POOL = "pool"
    LABEL = "label"
    WHOLE = "whole"
    """Everything; the key is empty."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Days, or months, from the one that begins at `first` to the last that begins by `last`."""

    first: datetime
    last: datetime
    monthly: bool


class UsageQueries(Protocol):
    """`now` is when an allocation ends that has not ended yet; one that had not begun by then is left out."""

    async def held(self, bounds: Outside, after: datetime, before: datetime, now: datetime) -> Sequence[HeldRow]:
        """In the order in which the slots were given."""

    async def sums(self, bounds: Outside, by: By, periods: Periods, now: datetime) -> Sequence[Sum]:
        """In any order. A period and a key under which nothing was held have no sum."""


# ---------------------------------------------------------------- Postgres

HELD = """SELECT a.allocation_id, a.task_type, a.owner, u.id AS owner_id, a.experiment_id, a.slots, a.pool,
    coalesce(e.labels, '{}') AS labels, coalesce(w.name, '') AS workspace, greatest(a.assigned_at, $1) AS began_at,
    least(coalesce(a.ended_at, $3), $2) AS ended_at
FROM read_tasks.allocations a
LEFT JOIN read_identity.users u ON u.username = a.owner
LEFT JOIN read_experiments.experiments e ON e.id = a.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
WHERE a.assigned_at < least($2, $3) AND coalesce(a.ended_at, $3) > $1
ORDER BY a.assigned_at, a.allocation_id"""

# $1 and $2 bound the periods, $3 is now, $4 their length in words; a row for each period and what it is summed over.
SUMS = """SELECT s.began_at, h.{of} AS key,
    sum(h.slots * extract(epoch FROM least(coalesce(h.ended_at, $3), s.began_at + $4::text::interval)
                                     - greatest(h.assigned_at, s.began_at)))::float8 AS seconds
FROM generate_series($1::timestamptz, $2::timestamptz, $4::text::interval) AS s(began_at)
JOIN {source} h ON h.assigned_at < least(s.began_at + $4::text::interval, $3) AND coalesce(h.ended_at, $3) > s.began_at
GROUP BY s.began_at, h.{of}"""

ALLOCATIONS = "read_tasks.allocations"

LABELED = """(SELECT a.assigned_at, a.ended_at, a.slots, label
    FROM read_tasks.allocations a JOIN read_experiments.experiments e ON e.id = a.experiment_id,
    unnest(e.labels) AS label)"""

WHOLE = f"(SELECT *, ''::text AS whole FROM {ALLOCATIONS})"

SOURCES = {By.LABEL: LABELED, By.WHOLE: WHOLE}
STATEMENTS = {by: SUMS.format(of=by.value, source=SOURCES.get(by, ALLOCATIONS)) for by in By}


class PostgresUsage:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def held(self, bounds: Outside, after: datetime, before: datetime, now: datetime) -> Sequence[HeldRow]:
        return [_held(row) for row in await self._tables.rows(HELD, after, before, now)]

    async def sums(self, bounds: Outside, by: By, periods: Periods, now: datetime) -> Sequence[Sum]:
        length = "1 month" if periods.monthly else "1 day"
        rows = await self._tables.rows(STATEMENTS[by], periods.first, periods.last, now, length)
        return [Sum(row["began_at"], row["key"], row["seconds"]) for row in rows]


def _held(row: asyncpg.Record) -> HeldRow:
    return HeldRow(
        allocation_id=row["allocation_id"],
        task_type=row["task_type"],
        owner=row["owner"],
        owner_id=row["owner_id"],
        experiment_id=row["experiment_id"],
        slots=row["slots"],
        pool=row["pool"],
        labels=tuple(row["labels"]),
        workspace=row["workspace"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
    )


QUERIES: Port[UsageQueries] = Port(PostgresUsage)

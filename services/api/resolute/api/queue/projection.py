"""The places of jobs in the queue of each pool: which rows the log comes to.

The events of `NUMBERED` take the numbers 1, 2, 3 … of their pool. A job's place is the number of its first request,
until a person moves the job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import NUMBERED, AllocationRequested, JobMoved


@dataclass(frozen=True, slots=True)
class Job:
    job_id: str
    pool: str
    place: Decimal


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How many numbers a pool has given out."""

    pool: str
    count: int


JOBS = Table("jobs", Job, key=("job_id", "pool"))

ARRIVALS = Table("arrivals", Arrivals, key=("pool",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded.key, rows)


def _requested(requested: AllocationRequested, pool: str, rows: Rows) -> None:
    number = _numbered(requested, pool, rows)
    if rows.get(JOBS, requested.job_id, pool) is None:
        rows.put(JOBS, Job(requested.job_id, pool, Decimal(number)))


def _numbered(_: Event, pool: str, rows: Rows) -> int:
    """The next number of the pool, which the event takes."""
    arrivals = rows.get(ARRIVALS, pool)
    number = 1 if arrivals is None else arrivals.count + 1
    rows.put(ARRIVALS, Arrivals(pool, number))
    return number


def _moved(moved: JobMoved, pool: str, rows: Rows) -> None:
    rows.change(JOBS, moved.job_id, pool, place=Decimal(moved.position))


SHOWS: Mapping[type[Event], Callable[[Any, str, Rows], object]] = {
    **dict.fromkeys(NUMBERED, _numbered),
    AllocationRequested: _requested,
    JobMoved: _moved,
}

PROJECTION = Projection(
    slice="queue",
    version=1,
    tables=(JOBS, ARRIVALS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.POOL.name}),
    project=project,
)

"""Which projects users looked at last: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.api.visits.messages import SHOWN_MAX
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.spaces import ProjectDeleted
from resolute.proto.visits import ProjectVisited


@dataclass(frozen=True, slots=True)
class Visit:
    user_id: int
    project_id: int
    visited_at: datetime
    position: int
    """Of the visit in the log: the order of the visits, whatever the clocks of gateways say."""


VISITS = Table("visits", Visit, key=("user_id", "project_id"), lookups=("user_id", "project_id"))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _visited(visited: ProjectVisited, recorded: Recorded, rows: Rows) -> None:
    rows.put(VISITS, Visit(visited.user_id, visited.project_id, visited.visited_at, recorded.position))
    kept = sorted(rows.where(VISITS, "user_id", visited.user_id), key=lambda visit: visit.position)
    for old in kept[:-SHOWN_MAX]:
        rows.remove(VISITS, old.user_id, old.project_id)


def _deleted(deleted: ProjectDeleted, _: Recorded, rows: Rows) -> None:
    for visit in rows.where(VISITS, "project_id", deleted.project_id):
        rows.remove(VISITS, visit.user_id, visit.project_id)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    ProjectVisited: _visited,
    ProjectDeleted: _deleted,
}

PROJECTION = Projection(
    slice="visits",
    version=1,
    tables=(VISITS,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.VISITS.name, streams.WORKSPACE.name}),
    project=project,
)

"""The cluster's message: which row the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.cluster_message import ClusterMessageCleared, ClusterMessageSet
from resolute.proto.message import Event, Recorded

THE_ONE = 1
"""The key of the only row."""


@dataclass(frozen=True, slots=True)
class ClusterMessage:
    id: int
    message: str
    start_at: datetime
    end_at: datetime | None
    created_at: datetime


MESSAGES = Table("messages", ClusterMessage, key=("id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _set(made: ClusterMessageSet, recorded: Recorded, rows: Rows) -> None:
    rows.put(MESSAGES, ClusterMessage(THE_ONE, made.message, made.start_at, made.end_at, recorded.recorded_at))


def _cleared(_: ClusterMessageCleared, __: Recorded, rows: Rows) -> None:
    rows.remove(MESSAGES, THE_ONE)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    ClusterMessageSet: _set,
    ClusterMessageCleared: _cleared,
}

PROJECTION = Projection(
    slice="cluster_message",
    version=1,
    tables=(MESSAGES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.ANNOUNCEMENT.name}),
    project=project,
)

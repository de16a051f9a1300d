"""Which projects a user looked at last. The directory owns it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


@dataclass(frozen=True, slots=True)
class ProjectVisited(Event):
    """Written to a stream of the user's own, `visits-7`, and not for each page view: see `RecordVisit`."""

    category: ClassVar[str] = streams.VISITS.name
    sentence: ClassVar[str] = "user {user_id} looked at project {project_id}"
    user_id: int
    project_id: int
    visited_at: datetime


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class RecordVisit(Command):
    """Only the order of the visits counts. A visit to the project that was visited last records nothing, and one to any
    other at most one event a minute."""

    service: ClassVar[str] = "directory"
    user_id: int
    project_id: int
    visited_at: datetime

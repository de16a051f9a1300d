"""The message that administrators show to everybody. The directory owns it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


class ClusterEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.ANNOUNCEMENT.name


class ClusterCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class ClusterMessageSet(ClusterEvent):
    """In the place of the one before: there is one at a time."""

    sentence: ClassVar[str] = "everybody is shown the message {message!r} from {start_at} on"
    message: str
    start_at: datetime
    end_at: datetime | None = None
    """None: until another is set, or it is cleared."""


@dataclass(frozen=True, slots=True)
class ClusterMessageCleared(ClusterEvent):
    sentence: ClassVar[str] = "the message that everybody was shown was cleared"


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class SetClusterMessage(ClusterCommand):
    message: str
    set_at: datetime
    start_at: datetime
    end_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClearClusterMessage(ClusterCommand):
    pass

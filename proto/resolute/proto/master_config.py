"""What administrators change of the master's configuration while it runs: its log. The directory owns it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


class LogLevel(StrEnum):
    """Lines of this level and above are written."""

    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class MasterConfigEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.LOGGING.name


class MasterConfigCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class LoggingChanged(MasterConfigEvent):
    """Both values, in the place of those before."""

    level: str | None = None
    """A `LogLevel`. None: as the master configuration says."""
    color: bool | None = None
    """None: coloured where the log is text and goes to a terminal."""


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class ChangeLogging(MasterConfigCommand):
    changes_level: bool = False
    """False: the level stays, and `level` says nothing."""
    changes_color: bool = False
    level: str | None = None
    color: bool | None = None

"""The messages about logs: of trials and tasks, and of the gateway itself."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy
from resolute.api.kernel.fields import INT64, Flag, Instant, Needed, OrAbsent, WireEnum, any_text, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Names = Annotated[tuple[Name, ...], items(1000)]


class LogLevel(WireEnum, wire_name="v1LogLevel"):
    UNSPECIFIED = "LOG_LEVEL_UNSPECIFIED"
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


# ---------------------------------------------------------------- shipping


class TaskLog(Input, wire_name="v1TaskLog"):
    """One line as a task sends it. The gateway takes the id and the allocation, and uses its own."""

    log: Needed[Annotated[str, any_text(1_048_576)]] = ""
    task_id: Needed[Name] = ""
    agent_id: Name = ""
    allocation_id: Name = ""
    container_id: Name = ""
    id: Id = 0
    level: LogLevel = LogLevel.UNSPECIFIED
    """LOG_LEVEL_INFO where it is unspecified."""
    rank_id: Id = 0
    source: Name = ""
    stdtype: Name = ""
    timestamp: Instant = None
    """When the line was printed; when it arrived, where that is left out."""


class PostedLogs(Input, wire_name="v1PostTaskLogsRequest"):
    logs: Needed[Annotated[tuple[TaskLog, ...], items(1_000_000)]] = ()


# ---------------------------------------------------------------- reading


class OfTrial(Request):
    trial_id: InPath[Id]


class OfTask(Request):
    task_id: InPath[Name]


class WantedLines(Request):
    """Which lines of a log: those that fulfil all of this. What is left out does not narrow."""

    agent_ids: InQuery[Names] = ()
    container_ids: InQuery[Names] = ()
    enable_regex: InQuery[Flag | None] = None
    """Whether searchText is a regular expression."""
    follow: InQuery[Flag | None] = None
    """Whether lines are sent as they come, until the task has ended."""
    levels: InQuery[Annotated[tuple[LogLevel, ...], items(100_000)]] = ()
    limit: InQuery[Limit] = 0
    """0, -1 and -2 are all lines."""
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    rank_ids: InQuery[Annotated[tuple[Id, ...], items(1000)]] = ()
    search_text: InQuery[Annotated[str, text(4096)]] = ""
    sources: InQuery[Names] = ()
    stdtypes: InQuery[Names] = ()
    timestamp_after: InQuery[Instant] = None
    timestamp_before: InQuery[Instant] = None


class TrialLogs(WantedLines, OfTrial):
    pass


class TaskLogs(WantedLines, OfTask):
    allocation_ids: InQuery[Names] = ()


class ShownLine(Message):
    """What is shown of each line, of whatever log."""

    id: str
    timestamp: datetime
    level: LogLevel
    message: str
    """The line as people read it: time, container, rank, level and text."""
    log: str = ""
    """The text alone."""
    agent_id: str = ""
    container_id: str = ""
    source: str = ""
    rank_id: OrAbsent[int] = None
    """Left out of lines that no rank of the task printed."""
    stdtype: OrAbsent[str] = None


class TrialLine(ShownLine, wire_name="v1TrialLogsResponse"):
    trial_id: int


class TaskLine(ShownLine, wire_name="v1TaskLogsResponse"):
    log: str
    task_id: str
    allocation_id: str = ""


class FollowedFields(Request):
    follow: InQuery[Flag | None] = None
    """Taken for the sake of clients: the values that there are now are answered once."""


class TrialFields(FollowedFields, OfTrial):
    pass


class TaskFields(FollowedFields, OfTask):
    pass


class ShownFields(Message):
    """The values that lines can be filtered by."""

    agent_ids: tuple[str, ...] = ()
    container_ids: tuple[str, ...] = ()
    rank_ids: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    stdtypes: tuple[str, ...] = ()


class TrialFieldsAnswer(ShownFields, wire_name="v1TrialLogsFieldsResponse"):
    pass


class TaskFieldsAnswer(ShownFields, wire_name="v1TaskLogsFieldsResponse"):
    allocation_ids: tuple[str, ...] = ()


# ---------------------------------------------------------------- how long logs are kept


class GivenRetention(Input, wire_name="v1PutTrialRetainLogsRequest"):
    num_days: Needed[Annotated[int, whole()] | None] = None
    """After the end of the trial; -1 is for ever."""
    trial_id: Id = 0


class PutTrialRetainLogs(Request):
    trial_id: InPath[Id]
    body: InBody[GivenRetention]


class GetRemainingDays(Request):
    id: InPath[Id]


class RemainingDaysAnswer(Message, wire_name="v1GetTrialRemainingLogRetentionDaysResponse"):
    remaining_days: OrAbsent[int] = None
    """-1 is for ever; left out while the trial has not ended."""


class CleanUpLogs(Request):
    pass


class CleanUpLogsAnswer(Message, wire_name="v1CleanupLogsResponse"):
    removed_count: Annotated[int, INT64]


# ---------------------------------------------------------------- the gateway's own log


class MasterLogs(Request):
    follow: InQuery[Flag | None] = None
    """Whether lines are sent as they come, until the caller leaves."""
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0


class LogEntry(Message, wire_name="v1LogEntry"):
    id: int
    level: LogLevel
    message: str
    timestamp: OrAbsent[datetime] = None


class MasterLogsAnswer(Message, wire_name="v1MasterLogsResponse"):
    log_entry: LogEntry

"""Stored lines as the wire shows them."""

from __future__ import annotations

from typing import TypeVar

from resolute.api.logs import levels
from resolute.api.logs.messages import ShownLine, TaskLine, TrialLine
from resolute.api.measures.logs import NO_RANK, StoredLine
from resolute.proto.pool import LogLine

Line = TypeVar("Line", bound=ShownLine)


def trial_line(trial_id: int, stored: StoredLine) -> TrialLine:
    return _line(TrialLine, stored, trial_id=trial_id)


def task_line(stored: StoredLine) -> TaskLine:
    return _line(TaskLine, stored, task_id=stored.line.task_id, allocation_id=stored.line.allocation_id)


def _line(kind: type[Line], stored: StoredLine, **owner: int | str) -> Line:
    """`owner`: the fields that say whose line it is."""
    line = stored.line
    return kind(
        id=str(stored.id),
        timestamp=line.at,
        level=levels.shown(line.level),
        message=readable(line),
        log=line.text + "\n",
        agent_id=line.agent_id,
        container_id=line.container_id,
        source=line.source,
        rank_id=None if line.rank == NO_RANK else line.rank,
        stdtype=line.stdtype or None,
        **owner,
    )


def readable(line: LogLine) -> str:
    """The line as people read it: time, container, rank, level, text."""
    at = line.at.isoformat(timespec="microseconds")[:26]  # without its zone, which is UTC; strftime is slow
    rank = "" if line.rank == NO_RANK else f" [rank={line.rank}]"
    return f"[{at}Z] {line.container_id[:8]:8}{rank} || {line.level}: {line.text}\n"

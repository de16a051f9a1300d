"""A line of a task's output, read for what it says about itself: which rank printed it, at which level.

And the one line that is ours: how a task ended, for whoever reads its log to find out.
"""

from __future__ import annotations

import re
import signal

from resolute.agent.ledger import Entry
from resolute.agent.runtime import Exit, Line
from resolute.proto.pool import LogLine

_RANK = re.compile(r"\[rank=(\d{1,9})\] ?")
_NAMES = "TRACE|DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL"
_LEVEL = re.compile(rf"(?:({_NAMES}): ?|\[({_NAMES})\] ?)")
_ALIASES = {"WARN": "WARNING", "FATAL": "CRITICAL"}

LINE_BITS, SHARE_BITS = 28, 10


def sequence(run_id: int, share: int, number: int) -> int:
    """The place of a line among all lines of its task: run, share of the allocation, line, most significant first.

    Unique for a task whatever ranks its shares print as. It stays below 2^53, so that any JSON reader has it whole.
    """
    return ((run_id << SHARE_BITS) + share << LINE_BITS) + number


def read_line(entry: Entry, agent_id: str, number: int, line: Line) -> LogLine:
    """`number` counts the lines of this share, from 0."""
    rank, level, text = understand(line.text)
    return LogLine(
        task_id=entry.task_id,
        allocation_id=entry.allocation_id,
        rank=entry.rank if rank is None else rank,
        sequence=sequence(entry.run_id, entry.rank, number),
        at=line.at,
        level=level,
        stdtype=line.stdtype,
        text=text,
        agent_id=agent_id,
        container_id=entry.resources_id,
    )


def understand(text: str) -> tuple[int | None, str, str]:
    """Rank, level and the rest: `[rank=1] ERROR: out of memory` says (1, ERROR, out of memory)."""
    rank = None
    if found := _RANK.match(text):
        rank, text = int(found[1]), text[found.end() :]
    level = "INFO"
    if found := _LEVEL.match(text):
        name = found[1] or found[2]
        level, text = _ALIASES.get(name, name), text[found.end() :]
    return rank, level, text


def last_words(found: Exit, stop_reason: str, began: bool = True) -> str:
    """The line that closes a task's log; empty for a task that ended well."""
    if found.code == 0:
        return ""
    if not began and found.code is not None:
        return f"{'INFO' if stop_reason else 'ERROR'}: the task could not be started: {found.reason}"
    if stop_reason:
        return f"INFO: the task was stopped ({stop_reason}) and {_ended(found)}"
    return f"ERROR: the task {_ended(found)}"


def _ended(found: Exit) -> str:
    why = f": {found.reason}" if found.reason else ""
    if found.code is None:
        return f"ended, and nobody can know how{why}"
    return f"ended with exit code {found.code}{_signal(found.code)}{why}"


def _signal(code: int) -> str:
    try:
        return f" ({signal.Signals(code - 128).name})"
    except ValueError:
        return ""

"""Reads the rank and the level of a line of a task's output from the line's own text.

Also makes the line that the agent adds to a task's log: how the task ended.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from resolute.agent.ledger import Entry
from resolute.agent.runtime import WITH_ITS_CLUSTER, Exit, Line
from resolute.proto.pool import LogLine

_RANK = re.compile(r"\[rank=(\d{1,9})\] ?")
_NAMES = "TRACE|DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL"
_LEVEL = re.compile(rf"(?:({_NAMES}): ?|\[({_NAMES})\] ?)")
_TRACEBACK = re.compile(r"[ |+]*(?:Exception Group )?Traceback \(most recent call last\):$")
_BETWEEN_TRACEBACKS = {
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
}
_ALIASES = {"WARN": "WARNING", "FATAL": "CRITICAL"}

LINE_BITS, SHARE_BITS = 28, 10


def sequence(run_id: int, share: int, number: int) -> int:
    """The place of a line among all lines of its task: run, share of the allocation, line, most significant first.

    Unique for a task, whichever ranks its lines name. It stays below 2^53, so that every JSON reader reads it exactly.
    """
    return ((run_id << SHARE_BITS) + share << LINE_BITS) + number


Tracebacks = frozenset[tuple[int, str]]
"""The outputs, by rank and stream, that are in the midst of a Python traceback."""


def read_lines(
    entry: Entry, agent_id: str, first: int, lines: Sequence[Line], open_: Tracebacks = frozenset()
) -> tuple[tuple[LogLine, ...], Tracebacks]:
    """Reads lines of this share; `first` is the number of the first one, counted from 0. `open_`: the outputs that were
    inside of a traceback before these lines. Returns the lines, and the outputs that are inside of one after them."""
    read = []
    for number, line in enumerate(lines, start=first):
        rank, level, text = understand(line.text)
        rank = entry.rank if rank is None else rank
        if level is None:
            level, open_ = _level_in_traceback(text, (rank, line.stdtype), open_)
        read.append(
            LogLine(
                task_id=entry.task_id,
                allocation_id=entry.allocation_id,
                rank=rank,
                sequence=sequence(entry.run_id, entry.rank, number),
                at=line.at,
                level=level,
                stdtype=line.stdtype,
                text=text,
                agent_id=agent_id,
                container_id=entry.resources_id,
            )
        )
    return tuple(read), open_


def _level_in_traceback(text: str, output: tuple[int, str], open_: Tracebacks) -> tuple[str, Tracebacks]:
    """The level of a line that names none: ERROR from the head of a traceback to the line that names the exception,
    which is the first that is not indented."""
    if _TRACEBACK.match(text):
        return "ERROR", open_ | {output}
    if text in _BETWEEN_TRACEBACKS:
        return "ERROR", open_
    if output not in open_:
        return "INFO", open_
    inside = text == "" or text[0].isspace()
    return "ERROR", open_ if inside else open_ - {output}


def understand(text: str) -> tuple[int | None, str | None, str]:
    """Rank, level and the rest: `[rank=1] ERROR: out of memory` says (1, ERROR, out of memory)."""
    rank = None
    if found := _RANK.match(text):
        rank, text = int(found[1]), text[found.end() :]
    level = None
    if found := _LEVEL.match(text):
        name = found[1] or found[2]
        level, text = _ALIASES.get(name, name), text[found.end() :]
    return rank, level, text


def last_words(found: Exit, stop_reason: str, began: bool = True) -> str:
    """The line that closes a task's log; empty for a task that ended well."""
    if found.code == 0:
        return ""
    if found.reason == WITH_ITS_CLUSTER:
        return f"INFO: the task was stopped: {WITH_ITS_CLUSTER}"
    if not began and found.code is not None:
        return f"{'INFO' if stop_reason else 'ERROR'}: the task could not be started: {found.reason}"
    if stop_reason:
        return f"INFO: the task was stopped ({stop_reason}) and {_ended(found)}"
    return f"ERROR: the task {_ended(found)}"


def _ended(found: Exit) -> str:
    why = f": {found.reason}" if found.reason else ""
    if found.code is None:
        return f"ended, and its exit code is not known{why}"
    return f"ended with exit code {found.code}{_signal(found.code)}{why}"


def _signal(code: int) -> str:
    try:
        return f" ({signal.Signals(code - 128).name})"
    except ValueError:
        return ""

"""How the gateway knows a batch of an agent's log lines again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from resolute.api.shell import _lines_of
from resolute.proto.pool import LogBatch, LogLine

LINE = LogLine(
    "task", "allocation", 3, 100, datetime(2026, 1, 1, tzinfo=UTC), "INFO", "stdout", "text", "agent-1", "r1"
)


def batch(first: int, count: int) -> LogBatch:
    return LogBatch(tuple(replace(LINE, sequence=first + n) for n in range(count)))


def test_a_part_of_a_refused_batch_is_judged_for_itself_though_it_begins_at_the_same_line() -> None:
    assert _lines_of(batch(100, 10)) == _lines_of(batch(100, 10))
    assert len({_lines_of(batch(100, 10)), _lines_of(batch(100, 1)), _lines_of(batch(101, 1))}) == 3

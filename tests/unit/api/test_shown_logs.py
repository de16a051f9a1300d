"""Stored log lines as the wire shows them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from resolute.api import wire
from resolute.api.kernel.messages import Message
from resolute.api.logs.shown import task_line, trial_line
from resolute.api.measures.logs import NO_RANK, StoredLine
from resolute.proto.pool import LogLine

AT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
LINE = LogLine("7.task", "7.task.1", 3, 5, AT, "WARNING", "stderr", "hello", "agent-1", "c0ffee-1", "task")


def written(message: Message) -> Any:
    return orjson.loads(wire.dumps(message))


def test_a_line_of_a_trial_is_shown_with_its_parts_and_as_people_read_it() -> None:
    assert written(trial_line(7, StoredLine(12, LINE))) == {
        "id": "12",
        "trialId": 7,
        "timestamp": "2026-01-31T12:00:00.250Z",
        "level": "LOG_LEVEL_WARNING",
        "message": "[2026-01-31T12:00:00.250000Z] c0ffee-1 [rank=3] || WARNING: hello\n",
        "log": "hello\n",
        "agentId": "agent-1",
        "containerId": "c0ffee-1",
        "source": "task",
        "rankId": 3,
        "stdtype": "stderr",
    }


def test_a_line_of_a_task_names_the_task_and_the_allocation() -> None:
    shown = written(task_line(StoredLine(12, LINE)))
    assert (shown["taskId"], shown["allocationId"]) == ("7.task", "7.task.1")
    assert "trialId" not in shown


def test_a_line_that_no_rank_printed_has_neither_rank_nor_stream() -> None:
    shown = written(task_line(StoredLine(0, replace(LINE, rank=NO_RANK, stdtype=""))))
    assert not {"rankId", "stdtype"} & set(shown)
    assert "rank" not in shown["message"]


def test_a_level_that_the_wire_does_not_know_is_shown_as_unspecified() -> None:
    assert written(task_line(StoredLine(1, replace(LINE, level="LOUD"))))["level"] == "LOG_LEVEL_UNSPECIFIED"

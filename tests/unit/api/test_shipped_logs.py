"""Batches of log lines as tasks ship them over REST."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from resolute.api.body_kinds import LINES_MAX
from resolute.api.kernel.messages import named_in
from resolute.api.logs.batches import BareLineBatch, LegacyTaskLogs, LineBatch, PostTaskLogs, lines_of
from resolute.proto.errors import InvalidConfig

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def batch(*records: Any) -> LineBatch:
    return LineBatch.decoded({"logs": list(records)})


def test_a_record_becomes_a_line_of_the_allocation_that_sends_it() -> None:
    shipped = {
        "taskId": "t",
        "log": "hello\n\n",
        "level": 5,
        "rankId": "3",
        "agentId": "a",
        "containerId": "c",
        "source": "mine",
        "stdtype": "stderr",
        "timestamp": "2026-01-31T13:30:00+01:00",
        "allocationId": "another",
        "id": 7,
        "unknown": [],
    }
    [line] = lines_of(batch(shipped), "own", "req", AT)
    assert (line.task_id, line.allocation_id, line.text, line.level) == ("t", "own", "hello\n", "ERROR")
    assert (line.rank, line.agent_id, line.container_id, line.source, line.stdtype) == (3, "a", "c", "mine", "stderr")
    assert line.at == AT.replace(minute=30)


@pytest.mark.parametrize("empty", [{}, {"log": None, "level": None, "rankId": None, "timestamp": None}])
def test_what_a_record_leaves_out_or_has_as_null_is_filled_in(empty: dict[str, Any]) -> None:
    [line] = lines_of(batch({"taskId": "t"} | empty), "own", "req", AT)
    assert (line.text, line.level, line.rank, line.at) == ("", "INFO", 0, AT)
    assert (line.source, line.stdtype, line.agent_id) == ("task", "stdout", "")


def test_the_same_request_gives_the_same_numbers_and_another_request_gives_others() -> None:
    twice = batch({"taskId": "t", "log": "x"}, {"taskId": "t", "log": "x"})
    first, again, other = (lines_of(twice, "own", request, AT) for request in ("req-1", "req-1", "req-2"))
    assert first == again
    assert len({line.sequence for line in (*first, *other)}) == 4


def test_access_is_decided_by_each_task_that_a_batch_names_once() -> None:
    records = [{"taskId": "t"}, {"taskId": "u"}, {"taskId": "t"}, {"taskId": None}, {}]
    named = [{"taskId": "t"}, {"taskId": "u"}]
    assert named_in(PostTaskLogs(body=batch(*records))) == ({}, {"logs": named})
    assert named_in(LegacyTaskLogs(body=BareLineBatch.decoded(records))) == ({}, named)
    assert named_in(PostTaskLogs(body=LineBatch.decoded({"logs": None}))) == ({}, {"logs": []})


def test_a_line_without_a_task_and_a_batch_that_is_too_large_are_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"logs\[1\].taskId: expected a string"):
        lines_of(batch({"taskId": "t"}, {}), "own", "req", AT)
    with pytest.raises(InvalidConfig, match="logs: expected at most 10,000 log records in a batch; found more"):
        lines_of(batch(*[{"taskId": "t"}] * (LINES_MAX + 1)), "own", "req", AT)

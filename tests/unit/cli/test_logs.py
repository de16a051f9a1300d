"""Logs: the lines asked for, and following them across a master that comes and goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from resolute.cli import logs

LOGS = "GET /api/v1/trials/1/logs"


def line(number: int) -> dict[str, Any]:
    return {"id": str(number), "message": f"line {number}\n", "timestamp": f"2026-01-02T03:04:{number:02}Z"}


def test_messages_are_printed_and_nothing_else(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any]
) -> None:
    master.on(LOGS, lambda asked: stream(line(1), {**line(2), "message": "no newline"}))
    outcome = det("t logs 1")
    assert outcome.out == "line 1\nno newline\n"
    assert "det trial logs -f 1" in outcome.err
    assert dict(master.last(LOGS).query) == {"follow": "false"}


def test_filters_are_passed_on(master: Any, det: Callable[..., Any], stream: Callable[..., Any]) -> None:
    master.on(LOGS, lambda asked: stream())
    det("t logs 1 --head 5 --level ERROR --rank 0 --rank 1 --timestamp-after 2026-01-02T03:04:05Z --container-id c")
    assert sorted(master.last(LOGS).query) == [
        ("containerIds", "c"),
        ("follow", "false"),
        ("levels", "LOG_LEVEL_CRITICAL"),
        ("levels", "LOG_LEVEL_ERROR"),
        ("limit", "5"),
        ("rankIds", "0"),
        ("rankIds", "1"),
        ("timestampAfter", "2026-01-02T03:04:05Z"),
    ]


def test_an_instant_that_is_none_is_refused_by_name(master: Any, det: Callable[..., Any]) -> None:
    outcome = det("t logs 1 --timestamp-before yesterday")
    assert outcome.status == 1
    assert "--timestamp-before" in outcome.err
    assert master.asked == []


def test_the_tail_comes_newest_first_and_is_printed_oldest_first(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any]
) -> None:
    master.on(LOGS, lambda asked: stream(line(3), line(2)))
    assert det("t logs 1 --tail 2").out == "line 2\nline 3\n"
    assert ("orderBy", "ORDER_BY_DESC") in master.last(LOGS).query


def test_following_from_the_tail_shows_each_line_once(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any]
) -> None:
    def answer(asked: Any) -> Any:
        followed = ("follow", "true") in asked.query
        return stream(line(2), line(3), line(4)) if followed else stream(line(3), line(2))

    master.on(LOGS, answer)
    assert det("t logs 1 --tail 2 -f").out == "line 2\nline 3\nline 4\n"


def test_json_lines_are_for_programs(master: Any, det: Callable[..., Any], stream: Callable[..., Any]) -> None:
    master.on(LOGS, lambda asked: stream(line(1)))
    assert json.loads(det("t logs 1 --json").out) == line(1)


def test_following_survives_a_master_that_breaks_off_and_repeats_nothing(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_PAUSE_S", 0.0)
    text = "".join(json.dumps({"result": line(n)}) + "\n" for n in (1, 2))
    torn = web.Response(body=text.encode() + b'{"result": {"id"', content_type="application/json")
    answers = iter([torn, stream(line(2), line(3))])
    master.on(LOGS, lambda asked: next(answers))
    outcome = det("t logs 1 -f")
    assert outcome.out == "line 1\nline 2\nline 3\n"
    assert "following again" in outcome.err
    assert ("timestampAfter", "2026-01-02T03:04:01.000000Z") in master.last(LOGS).query


def test_a_connection_cut_between_two_lines_is_not_taken_for_the_end(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(web.StreamResponse):
        async def prepare(self, request: Any) -> Any:
            writer = await super().prepare(request)
            await self.write((json.dumps({"result": line(1)}) + "\n").encode())
            request.transport.close()
            return writer

    monkeypatch.setattr(logs, "_PAUSE_S", 0.0)
    answers = iter([Cut(), stream(line(1), line(2))])
    master.on(LOGS, lambda asked: next(answers))
    assert det("t logs 1 -f").out == "line 1\nline 2\n"


def test_an_error_in_mid_stream_is_told(master: Any, det: Callable[..., Any]) -> None:
    error = {"error": {"grpcCode": 5, "httpCode": 404, "message": "trial 1 not found", "httpStatus": "Not Found"}}
    master.on(LOGS, web.Response(text=json.dumps(error) + "\n", status=404, content_type="application/json"))
    outcome = det("t logs 1")
    assert outcome.status == 1
    assert outcome.err == "Failed to fetch trial logs: trial 1 not found\n"


def test_interrupting_leaves_the_trial_alone_and_says_so(
    master: Any, det: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(logs, "show", interrupt)
    outcome = det("t logs 1 -f")
    assert outcome.status == 3
    assert "trial 1 goes on" in outcome.err


def test_the_log_of_an_experiment_is_that_of_its_first_trial(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any]
) -> None:
    master.on("GET /api/v1/experiments/7/trials", {"trials": [{"id": 2}, {"id": 1}]})
    master.on(LOGS, lambda asked: stream(line(1)))
    assert det("e logs 7").out == "line 1\n"


def test_a_running_task_is_known_by_the_beginning_of_its_id(
    master: Any, det: Callable[..., Any], stream: Callable[..., Any]
) -> None:
    ids = ("abc-1", "abd-2")
    summaries = {each: {"taskId": each, "allocationId": each, "registeredTime": "2026-01-02T03:04:05Z"} for each in ids}
    master.on("GET /api/v1/tasks", {"allocationIdToSummary": summaries})
    master.on("GET /api/v1/tasks/abc-1/logs", lambda asked: stream(line(1)))
    assert det("task logs abc").out == "line 1\n"
    assert "begins several task IDs: abc-1, abd-2" in det("task logs ab").err

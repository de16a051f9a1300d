"""The REST session: retries, errors, streams."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from resolute.cli import session as sessions
from resolute.cli.errors import ApiError, NotFound, Unauthenticated, Unreachable
from resolute.cli.responses import error_message
from resolute.cli.session import Session, encode_query

ANYTHING = "GET /api/v1/anything"


@pytest.fixture
def opened(master: Any, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(sessions, "_BACKOFF_S", 0.0)
    return Session(master.url, "token-of-determined")


def test_queries_repeat_lists_lower_booleans_and_leave_out_what_is_unset() -> None:
    query = {"a": [1, 2], "b": True, "c": None, "d": "x y", "e": []}
    assert encode_query(query) == "a=1&a=2&b=true&d=x+y"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"error": {"code": 5, "reason": "NotFound", "error": "no such trial"}}, "no such trial"),
        ({"error": {"grpcCode": 5, "httpCode": 404, "message": "gone"}}, "gone"),
        ({"message": "plain"}, "plain"),
        ({"error": "text"}, "text"),
    ],
)
def test_an_error_is_read_in_every_shape_of_the_wire(content: Any, message: str) -> None:
    assert error_message(json.dumps(content).encode()) == message


def test_an_error_that_is_no_json_is_shown_as_it_is() -> None:
    assert error_message(b"502 Bad Gateway\n") == "502 Bad Gateway"


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthenticated), (404, NotFound), (409, ApiError)])
def test_a_status_becomes_an_error_of_its_kind(
    master: Any, opened: Session, refuse: Callable[..., Any], status: int, kind: type[ApiError]
) -> None:
    master.on(ANYTHING, refuse(status, "no"))
    with pytest.raises(kind) as raised:
        opened.get("/api/v1/anything")
    assert raised.value.status == status


def test_a_master_that_is_starting_is_asked_again(master: Any, opened: Session, refuse: Callable[..., Any]) -> None:
    answers = iter([refuse(503, "starting"), refuse(502, "proxy"), {"fine": True}])
    master.on(ANYTHING, lambda asked: next(answers))
    assert opened.get("/api/v1/anything") == {"fine": True}


def test_patience_with_a_master_that_stays_away_has_an_end(
    master: Any, opened: Session, refuse: Callable[..., Any]
) -> None:
    master.on(ANYTHING, lambda asked: refuse(503, "still starting"))
    with pytest.raises(ApiError, match="still starting"):
        opened.get("/api/v1/anything")


def test_a_post_that_may_have_arrived_is_not_sent_twice(master: Any, opened: Session) -> None:
    class Hangup(web.Response):
        async def prepare(self, request: Any) -> None:
            request.transport.abort()

    master.on("POST /api/v1/anything", lambda asked: Hangup())
    with pytest.raises(Unreachable):
        opened.post("/api/v1/anything", {})
    assert [str(each) for each in master.asked] == ["POST /api/v1/anything"]


def test_what_is_sent_again_carries_the_same_key_so_that_it_is_done_once(
    master: Any, opened: Session, refuse: Callable[..., Any]
) -> None:
    answers = iter([refuse(503, "its answer is not here yet"), {"id": 1}, {"id": 2}])
    master.on("POST /api/v1/anything", lambda asked: next(answers))
    assert opened.post("/api/v1/anything", {}) == {"id": 1}
    assert opened.post("/api/v1/anything", {}) == {"id": 2}
    first, again, another = (asked.key for asked in master.asked)
    assert first
    assert first == again != another


def test_a_post_over_a_kept_connection_that_breaks_is_sent_again_under_its_key(master: Any, opened: Session) -> None:
    class Hangup(web.Response):
        async def prepare(self, request: Any) -> None:
            request.transport.abort()

    answers = iter([Hangup(), web.json_response({"id": 1})])
    master.on(ANYTHING, {})
    master.on("POST /api/v1/anything", lambda asked: next(answers))
    opened.get("/api/v1/anything")
    assert opened.post("/api/v1/anything", {}) == {"id": 1}
    _, first, again = (asked.key for asked in master.asked)
    assert first
    assert first == again


def test_nobody_at_the_address_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_BACKOFF_S", 0.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Unreachable, match="det deploy local cluster-up"):
        Session(address).get("/info")


def test_one_connection_serves_many_calls_and_is_renewed_when_the_master_closed_it(
    master: Any, opened: Session
) -> None:
    master.on(ANYTHING, {})
    opened.get("/api/v1/anything")
    first = opened._kept
    opened.get("/api/v1/anything")
    assert opened._kept is first
    assert first is not None
    assert first.sock is not None
    first.sock.shutdown(socket.SHUT_RDWR)
    assert opened.get("/api/v1/anything") == {}


def test_an_empty_answer_is_an_empty_object(master: Any, opened: Session) -> None:
    master.on(ANYTHING, web.Response(text=""))
    assert opened.get("/api/v1/anything") == {}


def test_an_address_with_a_path_keeps_it(master: Any) -> None:
    master.on("GET /det/info", {"fine": True})
    assert Session(f"{master.url}/det").get("/info") == {"fine": True}

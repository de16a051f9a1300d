"""The wire's conventions, one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.api import wire
from resolute.api.call import failure_of
from resolute.proto.errors import Failed, InvalidConfig, NotFound, Refused, ResoluteError, Unavailable


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Refused("x"), 409, "Aborted"),
        (NotFound("x"), 404, "NotFound"),
        (InvalidConfig("x"), 400, "InvalidArgument"),
        (Unavailable("x"), 503, "Unavailable"),
        (ResoluteError("x"), 500, "Internal"),
        (wire.WireError(wire.UNAUTHENTICATED, "x"), 401, "Unauthenticated"),
    ],
)
def test_an_error_travels_under_its_status(error: ResoluteError, status: int, reason: str) -> None:
    code = wire.code_of(error)
    assert (code.http, code.reason) == (status, reason)
    assert wire.error_body("/api/v1/x", code, "x") == {"error": {"code": code.number, "reason": reason, "error": "x"}}
    assert wire.error_body("/info", code, "x") == {"message": "x"}


def test_instants_are_in_utc_with_no_needless_digits() -> None:
    at = datetime(2026, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    assert wire.timestamp(at) == "2026-01-31T12:00:00Z"
    assert wire.timestamp(at.replace(microsecond=120_000)) == "2026-01-31T12:00:00.120Z"
    assert wire.timestamp(at.replace(microsecond=123_456)) == "2026-01-31T12:00:00.123456Z"
    assert wire.timestamp(None) is None


@hypothesis.given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_an_instant_comes_back_as_it_went(at: datetime) -> None:
    assert wire.instant(wire.timestamp(at), "at") == at


@hypothesis.given(
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),
    st.sampled_from([0, 7, 120_000, 120_001, 999_999]),
    st.sampled_from([UTC, timezone(timedelta(hours=2))]),
)
def test_json_has_the_same_instants_as_text(at: datetime, microsecond: int, zone: timezone) -> None:
    at = at.replace(microsecond=microsecond, tzinfo=zone)
    assert wire.dumps([wire.json_instant(at)]) == wire.dumps([wire.timestamp(at)])


def test_what_is_no_instant_is_told_so() -> None:
    with pytest.raises(InvalidConfig, match=r"after: expected an RFC 3339 instant.*'yesterday'"):
        wire.instant("yesterday", "after")


def test_numbers_json_lacks_are_strings() -> None:
    document = {"a": [float("nan"), 1.5], "b": {"c": float("-inf")}}
    assert wire.finite(document) == {"a": ["NaN", 1.5], "b": {"c": "-Infinity"}}


@pytest.mark.parametrize(
    ("offset", "limit", "start", "end"),
    [
        (0, 0, 0, 10),
        (3, 4, 3, 7),
        (-2, 0, 8, 10),
        (-2, 1, 8, 9),
        (-20, 0, 0, 10),
        (0, -1, 0, 10),
        (0, -2, 0, 0),
        (99, 5, 10, 10),
    ],
)
def test_pages_are_cut_from_either_end(offset: int, limit: int, start: int, end: int) -> None:
    page = wire.page_of(10, offset=offset, limit=limit)
    assert (page.start, page.end, page.total) == (start, end, 10)


@hypothesis.given(st.integers(0, 1000), st.integers(1, 50))
def test_following_the_end_of_each_page_reads_everything_once(total: int, limit: int) -> None:
    seen: list[int] = []
    while len(seen) < total:
        page = wire.page_of(total, offset=len(seen), limit=limit)
        seen += wire.cut(range(total), page)
    assert seen == list(range(total))


def test_keys_are_taken_in_both_spellings_and_documents_left_alone() -> None:
    body = {
        "trial_id": 1,
        "metrics": {"steps_completed": 5, "avg_metrics": {"val_loss": 0.5}},
        "logs": [{"task_id": 2}],
    }
    assert wire.normalised(body) == {
        "trialId": 1,
        "metrics": {"stepsCompleted": 5, "avgMetrics": {"val_loss": 0.5}},
        "logs": [{"taskId": 2}],
    }
    assert wire.normalised({"resources": {"my_file.pt": 3, "sub_dir/": 0}}) == {
        "resources": {"my_file.pt": 3, "sub_dir/": 0}
    }


def test_a_bug_of_another_service_is_told_as_an_outage_and_keeps_its_words_to_itself() -> None:
    code, message = failure_of(Failed("IndexError: tuple index out of range"))
    assert code == wire.UNAVAILABLE
    assert "IndexError" not in message

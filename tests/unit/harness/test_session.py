"""Calls to the master: which are repeated, which are not, and what the user is told."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from determined.common import api
from determined.common.api._retry import ONCE, RetryPolicy, policy_of, seconds_of
from tests.unit.harness.conftest import Master

QUICK = RetryPolicy(give_up_after_s=60.0, pause_s=0.01)


@pytest.fixture
def session(master: Master) -> Iterator[api.Session]:
    opened = api.Session(master.url, "token-1", retry=QUICK)
    yield opened
    opened.close()


def test_calls_carry_the_tasks_token_over_one_kept_connection(master: Master, session: api.Session) -> None:
    for _ in range(5):
        session.post("/api/v1/trials/1/progress", {"progress": 0.5})
    assert master.tokens == {"Bearer token-1"}
    assert len(master.connections) == 1


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_that_is_away_is_asked_again(master: Master, session: api.Session, status: int) -> None:
    master.statuses = [status, status]
    session.post("/api/v1/checkpoints", {"uuid": "a"})
    assert master.posted("/checkpoints") == [{"uuid": "a"}]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, api.errors.APIException),
        (401, api.errors.UnauthenticatedException),
        (403, api.errors.ForbiddenException),
        (404, api.errors.NotFoundException),
        (410, api.errors.RunGivenUpException),
        (500, api.errors.APIException),
    ],
)
def test_an_answer_is_an_answer_and_not_asked_for_again(
    master: Master, session: api.Session, status: int, error: type[Exception]
) -> None:
    master.statuses = [status, status]
    with pytest.raises(error):
        session.get("/api/v1/me")
    assert master.statuses == [status]


def test_a_session_that_had_been_let_in_and_is_not_known_asks_again(master: Master, session: api.Session) -> None:
    """A gateway whose tables lag knows nobody for a moment; a trial must not end of that."""
    session.get("/api/v1/me")
    master.statuses = [401, 401, 401]
    session.post("/api/v1/checkpoints", {"uuid": "a"}, retry=ONCE)
    assert master.posted("/checkpoints") == [{"uuid": "a"}]


def test_a_session_that_stays_unknown_is_told_so_in_the_end(
    master: Master, session: api.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.get("/api/v1/me")
    monkeypatch.setattr(session, "_readmission_s", 4.0)
    master.statuses = [401] * 1000
    with pytest.raises(api.errors.UnauthenticatedException):
        session.get("/api/v1/me")
    assert 0 < len(master.statuses) < 999


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [("2", 2.0), (None, 0.0), ("100000", 30.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), ("-1", 0.0)],
)
def test_what_the_master_asks_to_wait_has_a_bound(header: str | None, wait_s: float) -> None:
    assert seconds_of(header) == wait_s


def test_a_master_that_says_when_to_come_again_is_not_asked_sooner(master: Master, session: api.Session) -> None:
    master.statuses, master.retry_after = [503], "1"
    began = time.monotonic()
    session.get("/api/v1/me")
    assert time.monotonic() - began >= 1


GIVEN_UP = """
import sys, threading
from determined.common import api
from determined.core._given_up import end_process

session = api.Session(sys.argv[1], "token-1", on_given_up=end_process)
print("training", end="")
threading.Thread(target=session.post, args=["/api/v1/trials/1/metrics", {}]).start()
while True:
    pass
"""


def test_a_task_whose_run_was_given_up_ends_at_once_and_says_why(master: Master) -> None:
    """Whatever its main thread is busy with; what it had printed is kept."""
    said = {"error": {"error": "allocation 1.1 was given up: agent-1 was silent for 60 s"}}
    master.answers["/metrics"] = (410, said)
    done = subprocess.run([sys.executable, "-c", GIVEN_UP, master.url], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (76, "training")
    assert done.stderr.splitlines()[-1] == (
        "ERROR: the cluster gave this run up, and this process ends: "
        "allocation 1.1 was given up: agent-1 was silent for 60 s"
    )


def test_the_words_of_the_master_reach_the_exception(master: Master, session: api.Session) -> None:
    master.answers["/me"] = (400, {"error": {"code": 3, "reason": "InvalidArgument", "error": "no such thing"}})
    with pytest.raises(api.errors.APIException, match="no such thing"):
        session.get("/api/v1/me")


def test_a_master_that_restarts_goes_unnoticed(master: Master, session: api.Session) -> None:
    session.post("/api/v1/checkpoints", {"n": 1})
    master.stop()
    back = threading.Timer(0.3, master.start)
    back.start()
    session.post("/api/v1/checkpoints", {"n": 2})
    back.join()
    assert master.posted("/checkpoints") == [{"n": 1}, {"n": 2}]


def test_patience_ends_with_a_message_that_names_the_address(master: Master) -> None:
    master.stop()
    try:
        session = api.Session(master.url, "t", retry=RetryPolicy(give_up_after_s=0.2, pause_s=0.01))
        with pytest.raises(api.errors.MasterNotFoundException, match=f"127.0.0.1:{master.port}"):
            session.get("/api/v1/me")
    finally:
        master.start()


def test_closing_breaks_off_a_long_poll_in_another_thread(master: Master, session: api.Session) -> None:
    ended = threading.Event()

    def poll() -> None:
        with pytest.raises(api.errors.MasterNotFoundException):
            session.get("/x/signals/preemption", {"timeout_seconds": 60}, timeout_s=70, retry=ONCE)
        ended.set()

    thread = threading.Thread(target=poll)
    thread.start()
    while not master.calls:
        time.sleep(0.005)
    session.close()
    assert ended.wait(30)
    thread.join()


def test_pauses_grow_and_patience_is_bounded() -> None:
    policy = RetryPolicy(give_up_after_s=600, pause_s=0.1, pause_s_max=5)
    pauses = [policy.pause_before(attempt) for attempt in range(12)]
    assert pauses[0] == 0
    assert pauses == sorted(pauses)
    assert max(pauses) == 5
    assert policy.allows(100, 594)
    assert not policy.allows(100, 596)


def test_patience_is_configurable_and_nonsense_is_named() -> None:
    assert policy_of({}).give_up_after_s == 600
    assert policy_of({"DET_RETRY_CONFIG": '{"total_s": 30}'}).give_up_after_s == 30
    assert policy_of({"DET_RETRY_CONFIG": '{"total": 3, "backoff_factor": 0.5}'}).give_up_after_s == 3.5
    with pytest.raises(ValueError, match="DET_RETRY_CONFIG"):
        policy_of({"DET_RETRY_CONFIG": "often"})


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="http"):
        api.Session("ftp://somewhere", None)

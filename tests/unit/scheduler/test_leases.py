"""When silence counts, and when it is somebody else's fault."""

from __future__ import annotations

from resolute.scheduler.leases import Leases


def leases() -> Leases:
    made = Leases({"default": 25})
    made.renew("default", "a1", 0)
    return made


def test_an_agent_is_given_the_whole_of_its_wait() -> None:
    made = leases()
    assert made.expired(25) == []
    assert made.expired(26) == [("default", "a1", 26)]


def test_a_word_is_enough() -> None:
    made = leases()
    made.renew("default", "a1", 20)
    assert made.expired(40) == []


def test_while_this_process_was_stopped_nobody_was_silent() -> None:
    made = leases()
    made.tick(1, expected_pause_s=1)
    made.tick(61, expected_pause_s=1)
    assert made.expired(61) == []
    assert made.expired(86) == [("default", "a1", 27)]


def test_a_quarter_of_the_wait_raises_a_doubt() -> None:
    made = leases()
    assert not made.doubtful(6)
    assert made.doubtful(7)
    made.renew_all(7)
    assert not made.doubtful(8)

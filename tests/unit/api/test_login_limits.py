"""Guessing passwords on a made-up clock: what a day of it gains, and that the owner gets in meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from resolute.api import devices
from resolute.api.login_limits import SKETCH_CELLS, Attempt, Cell, Counting, Limits, after, decide

DAY_S = 86_400
FAILURES_MAX = 10
OWNER = 7


class Clock:
    """The gateways' shared cells, and a clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.cells: dict[Cell, float] = {}
        self._counting = Counting(b"a secret", Limits.of(FAILURES_MAX))

    def fails(self, attempt: Attempt) -> bool:
        """Whether a wrong password was looked at; False when its sender was told to wait."""
        decision = decide(self._counting.charges(attempt), self.cells, self.now_s)
        self.cells.update(after(self.cells, decision.charged, self.now_s))
        return decision.wait_s == 0

    def succeeds(self, attempt: Attempt) -> bool:
        """Whether the right password was looked at: that costs nothing."""
        return decide(self._counting.charges(attempt), self.cells, self.now_s).wait_s == 0


def stranger(address: str, user_id: int | None = OWNER, name: str = "owner") -> Attempt:
    return Attempt(name, user_id, address)


def at_home() -> Attempt:
    return Attempt("owner", OWNER, "192.0.2.1", address_is_known=True)


def guess_for_a_day(clock: Clock, guesses: Iterable[Attempt], seconds: int = DAY_S) -> int:
    """How many of `guesses`, one a second, were looked at."""
    looked_at = 0
    for second, guess in zip(range(seconds), guesses, strict=False):
        clock.now_s = float(second)
        looked_at += clock.fails(guess)
    return looked_at


def test_a_day_of_guessing_from_one_address_gains_about_a_hundred_guesses() -> None:
    clock = Clock()
    assert guess_for_a_day(clock, (stranger("203.0.113.9") for _ in range(DAY_S))) == 10 + DAY_S // 900 - 1
    assert clock.succeeds(at_home())
    assert clock.succeeds(stranger("198.51.100.4")), "the owner on a journey is not kept out by one address"


def test_a_day_of_guessing_from_a_thousand_addresses_gains_about_three_hundred_guesses() -> None:
    clock = Clock()
    guesses = (stranger(f"203.0.{n % 1000 // 250}.{n % 250}") for n in range(DAY_S))
    assert guess_for_a_day(clock, guesses) == 30 + DAY_S // 300 - 1
    for owner in (
        at_home(),
        Attempt("owner", OWNER, "198.51.100.4", device="a browser"),
        Attempt("owner", OWNER, "198.51.100.4", session_id=12),
    ):
        assert clock.succeeds(owner), "a known caller has a budget that no stranger spends"
    assert not clock.succeeds(stranger("198.51.100.4")), "an owner whom nothing tells apart waits like the guessers"
    clock.now_s += 300
    assert clock.succeeds(stranger("198.51.100.4"))


def test_a_neighbour_at_the_owners_address_does_not_keep_the_owners_browser_out() -> None:
    clock = Clock()
    assert guess_for_a_day(clock, (at_home() for _ in range(DAY_S))) == 10 + DAY_S // 60 - 1
    assert clock.succeeds(Attempt("owner", OWNER, "192.0.2.1", device="a browser", address_is_known=True))
    assert clock.succeeds(Attempt("other", 8, "192.0.2.1", address_is_known=True)), "others of that address neither"


def test_one_address_that_tries_one_password_at_every_account_is_slowed_down_too() -> None:
    clock = Clock()
    guesses = (stranger("203.0.113.9", number, f"user {number}") for number in range(DAY_S))
    assert guess_for_a_day(clock, guesses) == 50 + DAY_S // 10 - 1


def test_ten_thousand_invented_names_do_not_push_out_what_was_counted() -> None:
    clock = Clock()
    while clock.fails(stranger("203.0.113.9")):
        pass
    for number in range(10_050):
        clock.fails(stranger("203.0.113.9", None, f"nobody {number}"))
        clock.fails(stranger(f"203.0.{number // 250}.{number % 250}", None, f"nobody {number}"))
    assert not clock.succeeds(stranger("203.0.113.9"))
    assert clock.succeeds(at_home())


def test_a_flood_fills_no_more_cells_than_there_are() -> None:
    clock = Clock()
    for number in range(200_000):
        clock.fails(stranger(f"2001:db8:{number % 65_536:x}:{number // 65_536:x}::/64", None, f"nobody {number}"))
    assert len(clock.cells) <= 4 * SKETCH_CELLS + 4_096
    assert clock.succeeds(at_home())


def test_a_name_that_nobody_has_is_limited_as_an_account_is() -> None:
    known, unknown = Clock(), Clock()
    tries = [known.fails(stranger("203.0.113.9")) for _ in range(30)]
    assert tries == [unknown.fails(stranger("203.0.113.9", None, "nobody")) for _ in range(30)]
    assert sum(tries) == FAILURES_MAX


def test_the_address_of_a_proxy_that_says_nothing_is_not_held_against_those_behind_it() -> None:
    clock = Clock()
    for _ in range(100):
        clock.fails(stranger("", name="owner"))
    assert clock.succeeds(stranger("", user_id=8, name="other"))


@pytest.mark.parametrize(
    ("user_id", "changed_after_s", "asked_after_s", "known"),
    [(7, -5, 60, True), (8, -5, 60, False), (7, 5, 60, False), (7, -5, 366 * DAY_S, False)],
)
def test_a_device_cookie_is_of_one_account_and_of_its_present_password(
    user_id: int, changed_after_s: int, asked_after_s: int, known: bool
) -> None:
    issued_at = datetime(2026, 1, 1, tzinfo=UTC)
    cookie = devices.issue(b"a secret", 7, issued_at)
    changed_at, now = issued_at + timedelta(seconds=changed_after_s), issued_at + timedelta(seconds=asked_after_s)
    assert bool(devices.device_of(b"a secret", cookie, user_id, changed_at, now)) is known
    assert not devices.device_of(b"another secret", cookie, user_id, changed_at, now)
    assert not devices.device_of(b"a secret", cookie.replace("7.", "8.", 1), 8, changed_at, now)
    assert not devices.device_of(b"a secret", "nonsense", user_id, changed_at, now)

"""Access tokens: what may be done with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from resolute.directory.access_tokens import Tokens, decide, evolve
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event
from resolute.proto.tokens import (
    AccessTokenCreated,
    AccessTokenDescribed,
    AccessTokenRevoked,
    ChangeAccessToken,
    CreateAccessToken,
)

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
END = NOW + timedelta(days=30)
FIRST = AccessTokenCreated(1, 7, "nightly", NOW, END)


def after(*events: Event) -> Tokens:
    return reduce(evolve, events, Tokens())


def test_tokens_are_numbered_and_no_number_is_given_twice() -> None:
    assert decide(CreateAccessToken(7, "nightly", NOW, END), Tokens()) == [FIRST]
    [second] = decide(CreateAccessToken(8, "", NOW, END), after(FIRST, AccessTokenRevoked(1)))
    assert second == AccessTokenCreated(2, 8, "", NOW, END)


def test_a_token_is_described_and_revoked_in_one_request() -> None:
    both = ChangeAccessToken(1, NOW, description="weekly", revoke=True)
    assert decide(both, after(FIRST)) == [AccessTokenDescribed(1, "weekly"), AccessTokenRevoked(1)]
    after(FIRST, *decide(both, after(FIRST)))
    assert decide(ChangeAccessToken(1, NOW, description="nightly"), after(FIRST)) == []


@pytest.mark.parametrize(
    ("before", "now", "why"), [((AccessTokenRevoked(1),), NOW, "it is revoked"), ((), END, "it has expired")]
)
def test_a_token_that_is_over_does_not_change_any_more(before: tuple[Event, ...], now: datetime, why: str) -> None:
    for change in ({"description": "x"}, {"revoke": True}):
        with pytest.raises(Refused, match=f"unable to update inactive token with ID 1: {why}"):
            decide(ChangeAccessToken(1, now, **change), after(FIRST, *before))


def test_unknown_tokens_and_long_descriptions_are_refused() -> None:
    with pytest.raises(NotFound, match="Token with id: 2 not found"):
        decide(ChangeAccessToken(2, NOW, revoke=True), after(FIRST))
    with pytest.raises(InvalidConfig, match="description: expected at most 1,000 characters; found 1,001"):
        decide(CreateAccessToken(7, "x" * 1_001, NOW, END), Tokens())
    with pytest.raises(InvalidConfig, match="description: "):
        decide(ChangeAccessToken(1, NOW, description="x" * 1_001), after(FIRST))

"""Where a peer's share belongs, and what is kept of an all-gather."""

from __future__ import annotations

import pytest

from resolute.api.measures.gathering import ROUND_MAX_BYTES, Place, Share, place
from resolute.proto.errors import InvalidConfig, Refused


def shares(*uuids: str, peers: int = 2, stale: bool = False) -> list[Share]:
    return [Share(uuid, number, peers, 10, stale) for number, uuid in enumerate(uuids, 1)]


def test_so_many_peers_in_order_of_coming_are_a_round() -> None:
    assert place([], "a", 2, 10) == Place(None, known=False)
    assert place(shares("a"), "b", 2, 10) == Place(1, known=False)
    assert place(shares("a", "b"), "c", 2, 10) == Place(None, known=False)
    assert place(shares("a", "b", "c"), "d", 2, 10).first == 3


def test_a_peer_that_asks_again_is_in_the_round_it_was_in() -> None:
    assert place(shares("a", "b", "c"), "b", 2, 10) == Place(1, known=True)
    assert place(shares("a", "b", "c"), "c", 2, 10) == Place(3, known=True)


def test_only_the_round_before_is_kept_when_a_round_is_complete() -> None:
    assert place(shares("a", "b", "c", "d", "e"), "f", 2, 10).drop == (1, 2)
    assert place(shares("a", "b", "c", "d"), "e", 2, 10).drop == ()
    assert place(shares("a", "b", "c", peers=1), "d", 1, 10).drop == (1, 2)


def test_a_round_that_nobody_waits_for_any_more_begins_anew() -> None:
    found = place([*shares("a", "b"), *shares("c", stale=True)], "d", 2, 10)
    assert (found.first, found.drop) == (None, (1,)), "the share that was left behind meets nobody"


def test_peers_of_one_round_agree_how_many_they_are() -> None:
    with pytest.raises(InvalidConfig, match="numPeers: the peers of this round say 3; found 2"):
        place(shares("a", peers=3), "b", 2, 10)


def test_a_round_has_a_limit_that_is_named() -> None:
    place(shares("a"), "b", 2, ROUND_MAX_BYTES - 10)
    with pytest.raises(Refused, match=f"{ROUND_MAX_BYTES} bytes together"):
        place(shares("a"), "b", 2, ROUND_MAX_BYTES - 9)

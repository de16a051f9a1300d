"""Which connections are let in when there is little room."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from resolute.api.edge.admission import Admission, Entry, Kind
from resolute.api.edge.limits import FILES_OF_OTHERS, ConnectionLimits, Rooms, rooms


@dataclass(eq=False)
class Link:
    slow: bool = True
    dropped: list[str] = field(default_factory=list)

    def awaits_client(self) -> bool:
        return self.slow

    def drop(self, reason: str) -> None:
        self.dropped.append(reason)


def admission(strangers: int = 4, users: int = 2, known: int = 3, **limits: int) -> Admission:
    return Admission(ConnectionLimits(**{"per_address": 2, **limits}), Rooms(strangers, users, known))


def let_in(door: Admission, address: str = "a", now: float = 0.0, *, slow: bool = True) -> tuple[Link, Entry]:
    link = Link(slow)
    entry = door.enter(link, address, now)
    assert entry is not None
    return link, entry


def test_a_stranger_that_keeps_the_gateway_waiting_makes_room_for_a_new_one() -> None:
    door = admission(strangers=2)
    (first, _), (second, _) = let_in(door, "a"), let_in(door, "b")
    let_in(door, "c")
    assert (first.dropped, second.dropped) == (["made room"], [])
    assert len(door.strangers) == 2


def test_room_is_made_where_most_connections_come_from() -> None:
    door = admission(strangers=4, per_address=3)
    quiet, _ = let_in(door, "quiet")
    greedy = [let_in(door, "greedy")[0] for _ in range(3)]
    let_in(door, "new")
    assert not quiet.dropped
    assert [link.dropped for link in greedy] == [["made room"], [], []]


def test_a_request_that_is_being_answered_is_never_ended_for_room() -> None:
    door = admission(strangers=2)
    busy = [let_in(door, "a", slow=False)[0], let_in(door, "b", slow=False)[0]]
    assert door.enter(Link(), "c", 5.0) is None
    assert not any(link.dropped for link in busy)


def test_an_address_keeps_as_many_slow_connections_as_it_may_and_no_more() -> None:
    door = admission(strangers=10)
    links = [let_in(door, "a", now)[0] for now in (0.0, 0.1, 0.2, 5.0)]
    assert [bool(link.dropped) for link in links] == [True, False, False, False], "the young ones have their second"
    proxy = Link()
    assert door.enter(proxy, "a", 9.0, limited=False) is not None
    assert not links[1].dropped, "an address that many share is not limited"


def test_whoever_shows_a_token_leaves_the_strangers_room() -> None:
    door = admission(strangers=1)
    _, entry = let_in(door)
    assert door.recognise(entry, Kind.USER, "user 1") is None
    link, _ = let_in(door, "b", slow=False)
    assert (len(door.strangers), door.users) == (1, 1)
    assert door.enter(Link(), "c", 1.0) is None
    assert not link.dropped


def test_users_leave_room_for_tasks() -> None:
    door = admission(strangers=9, users=2, known=3)
    entries = [let_in(door, str(n))[1] for n in range(5)]
    assert door.recognise(entries[0], Kind.USER, "user 1") is None
    assert door.recognise(entries[1], Kind.USER, "user 2") is None
    assert "connections.max" in (door.recognise(entries[2], Kind.USER, "user 3") or "")
    assert door.recognise(entries[3], Kind.TASK, "1.a.1") is None
    assert "connections.max" in (door.recognise(entries[4], Kind.TASK, "2.b.1") or "")
    assert entries[2].kind is Kind.STRANGER


def test_one_caller_cannot_take_everything() -> None:
    door = admission(strangers=9, users=9, known=9, per_caller=1)
    first, second = let_in(door, "a")[1], let_in(door, "b")[1]
    assert door.recognise(first, Kind.USER, "user 1") is None
    assert door.recognise(first, Kind.USER, "user 1") is None, "the same connection counts once"
    assert "connections.per_caller" in (door.recognise(second, Kind.USER, "user 1") or "")
    door.leave(first)
    assert door.recognise(second, Kind.USER, "user 1") is None


def test_all_that_leave_give_their_room_back() -> None:
    door = admission(strangers=9, users=9, known=9)
    entries = [let_in(door, str(n))[1] for n in range(6)]
    for entry in entries[:3]:
        door.recognise(entry, Kind.TASK, "1.a.1")
    for entry in [*entries, *entries]:
        door.leave(entry)
    assert (len(door.strangers), door.by_address, door.by_caller, door.users, door.tasks) == (0, {}, {}, 0, 0)


@pytest.mark.parametrize("files", [300, 1_024, 20_000, 1_000_000])
def test_the_rooms_together_never_need_more_files_than_there_are(files: int) -> None:
    found = rooms(ConnectionLimits(), files)
    assert found.strangers + found.known <= max(files - FILES_OF_OTHERS, 16)
    assert 0 < found.users <= found.known
    assert found.strangers > 0

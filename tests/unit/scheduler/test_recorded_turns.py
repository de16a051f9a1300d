"""What giving slots meant for later claims is in the event: folding a pool remembers it, and works nothing out anew.

So arithmetic that is corrected changes what pools decide from then on, and no state that was folded before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from resolute import codec
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import PreemptionRequested, SlotsAssigned, Turn
from resolute.scheduling import turn_accounting
from resolute.scheduling.demands import Kind
from resolute.scheduling.policies import FairShare, Policy, Priority
from resolute.scheduling.pool import Pool, evolve
from resolute.scheduling.shares import Shares, Stake
from resolute.scheduling.turn_accounting import FirstTurnRules
from tests.histories.fold import fold
from tests.histories.test_histories import HISTORIES, recorded, rows
from tests.simulation.plain import plain
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello
from tests.unit.scheduler.workloads import Workload


class WrongTurnRules(FirstTurnRules):
    """Arithmetic that is wrong on purpose: the clock goes on twice as fast, and each of the answers is the opposite."""

    def turn(self, shares: Shares, name: str, slots: int, asked: int, given: int, capacity: int) -> Turn:
        right = super().turn(shares, name, slots, asked, given, capacity)
        return Turn(str(2 * int(right.clock) + 1), right.secure_until + 1)

    def still_owed(self, stake: Stake | None, given: int, capacity: int) -> bool:
        return not super().still_owed(stake, given, capacity)

    def room_slots(self, kind: Kind, usable: Sequence[int]) -> int:
        return super().room_slots(kind, usable) + 1


class Forbidden(FirstTurnRules):
    """Arithmetic that must not be asked for."""

    def turn(self, shares: Shares, name: str, slots: int, asked: int, given: int, capacity: int) -> Turn:
        raise AssertionError("a turn was computed")

    def still_owed(self, stake: Stake | None, given: int, capacity: int) -> bool:
        raise AssertionError("what is owed was computed")

    def room_slots(self, kind: Kind, usable: Sequence[int]) -> int:
        raise AssertionError("room was computed")


def history_of(path: Path) -> list[Recorded]:
    return [recorded(row) for row in rows(path)]


def pools_in(events: Iterable[Recorded]) -> list[Any]:
    """Everything that the scheduler remembers of the pools in a log."""
    return [plain(states[0]) for stream, states in fold(events).items() if stream.startswith("pool-")]


def gifts(events: Iterable[Event]) -> list[SlotsAssigned]:
    return [event for event in events if isinstance(event, SlotsAssigned) and event.rule != "zero_slots"]


def claims(events: Iterable[Event]) -> list[PreemptionRequested]:
    """Preemptions that make room for one that waits."""
    return [event for event in events if isinstance(event, PreemptionRequested) and event.for_allocation]


def is_recorded(path: Path) -> bool:
    found = {gift.turn is not None for gift in gifts(each.event for each in history_of(path))}
    assert len(found) < 2, f"{path.stem} was recorded by two releases"
    return found == {True}


def contended(policy: Policy) -> list[Event]:
    """What happened in a pool in which jobs of unlike weights, one gang among them, take slots from one another."""
    workload = Workload(policy, {"a1": 4, "a2": 4})
    workload.submit("first", [1] * 8, priority=50, owner="eve")
    workload.settle()
    workload.submit("heavy", [2, 2, 2, 1, 1], weight=3, priority=40, owner="ada")
    workload.submit("gang", [8], weight=0.2, priority=30, owner="bob")
    workload.settle()
    while workload.order:
        workload.finish_oldest()
    return workload.story.events


POLICIES: tuple[Policy, ...] = (FairShare(), FairShare(by_user=True), Priority(preemption=True))


# ---------------------------------------------------------------- histories of earlier releases


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_every_history_folds_to_the_same_pools_when_the_arithmetic_changes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pools_in(history_of(path))
    monkeypatch.setattr(turn_accounting, "CURRENT", WrongTurnRules())
    assert pools_in(history_of(path)) == before


def test_there_are_histories_from_before_turns_were_recorded_and_from_after() -> None:
    """Else the test above would show nothing."""
    with_gifts = [path for path in HISTORIES if gifts(each.event for each in history_of(path))]
    assert {is_recorded(path) for path in with_gifts} == {True, False}
    events = [each.event for path in with_gifts if is_recorded(path) for each in history_of(path)]
    assert claims(events)
    assert all(claim.still_owed is not None and claim.room_slots for claim in claims(events))


def test_only_events_that_recorded_nothing_are_read_by_the_rules_of_the_first_releases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    histories = {path: history_of(path) for path in HISTORIES}
    with_gifts = [path for path, found in histories.items() if gifts(each.event for each in found)]
    before = {path: pools_in(histories[path]) for path in with_gifts}
    monkeypatch.setattr(turn_accounting, "FIRST", WrongTurnRules())
    assert {path.stem: pools_in(histories[path]) == before[path] for path in with_gifts} == {
        path.stem: is_recorded(path) for path in with_gifts
    }


# ---------------------------------------------------------------- pools of today


@pytest.mark.parametrize(
    "policy", POLICIES, ids=lambda policy: policy.name + ("-by-user" if getattr(policy, "by_user", False) else "")
)
def test_every_gift_of_slots_and_every_claim_says_what_it_means(policy: Policy) -> None:
    events = contended(policy)
    assert gifts(events)
    assert claims(events)
    assert all(gift.turn is not None and gift.user_turn is not None for gift in gifts(events))
    assert all(claim.still_owed is not None and claim.room_slots is not None for claim in claims(events))


@pytest.mark.parametrize(
    "policy", POLICIES, ids=lambda policy: policy.name + ("-by-user" if getattr(policy, "by_user", False) else "")
)
def test_a_pool_folded_from_its_stored_events_is_the_one_that_decided_them_and_reckons_nothing(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In JSON, as the log holds it: the clock has more digits than a number there may have."""
    events = contended(policy)
    before = plain(reduce(evolve, events, Pool()))
    monkeypatch.setattr(turn_accounting, "CURRENT", Forbidden())
    monkeypatch.setattr(turn_accounting, "FIRST", Forbidden())
    assert plain(reduce(evolve, map(stored, events), Pool())) == before


def test_arithmetic_that_is_corrected_decides_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    right = contended(FairShare())
    monkeypatch.setattr(turn_accounting, "CURRENT", WrongTurnRules())
    wrong = contended(FairShare())
    assert [gift.turn for gift in gifts(wrong)] != [gift.turn for gift in gifts(right)]


def test_slots_that_were_held_for_a_round_are_owed_no_longer_when_they_are_asked_back() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello("a1", 2), asks("long"), asks("short"))
    for former, later in (("short", "second"), ("second", "last")):
        story.given(exited(story, former), asks(later))
    story.when(asks("urgent", 2, priority=1))
    assert {claim.allocation_id: claim.still_owed for claim in claims(story.latest)} == {"long": False, "last": True}
    assert {claim.room_slots for claim in claims(story.latest)} == {2}


def stored(event: Event) -> Event:
    encoded = codec.event_to_json(event)
    return codec.event_from_json(encoded.type, encoded.schema_version, encoded.data)

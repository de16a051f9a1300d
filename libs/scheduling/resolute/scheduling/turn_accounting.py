"""What slots that are given, or asked back, mean for later claims of a group: computed with the decision, and recorded.

The event has the result, and a fold only reads it. So the rules of `CURRENT` may be corrected: that changes later
decisions, and no recorded one. The exception are events of the first releases, which did not record the result: the
fold computes it by `FIRST`. So the class `FirstTurnRules` must never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resolute.proto.pool import Turn
from resolute.scheduling.demands import Kind
from resolute.scheduling.shares import Shares, Stake, ticks


class FirstTurnRules:
    """The rules of the first releases, which did not record their results."""

    def turn(self, shares: Shares, name: str, slots: int, asked: int, given: int, capacity: int) -> Turn:
        """The group `name`, which asked for at least `asked` slots, was given `slots` slots of `capacity`; the state
        already has them. `given`: the slots that the pool has given in all. The clock advances by these slots. Where
        the group was due, its slots are secure for a round."""
        group = shares.groups[name]
        before = replace(group, committed=group.committed - slots)
        due = before.is_due(asked, shares.now(given - slots), capacity, shares.weight)
        clock = shares.clock + ticks(slots, shares.weight)
        return Turn(str(clock), given + capacity if due else group.secure_until)

    def still_owed(self, stake: Stake | None, given: int, capacity: int) -> bool:
        """Whether slots are asked back before they were held for a round: until the pool gave as many slots as it
        has."""
        return stake is not None and given - stake.given_at.given < capacity

    def room_slots(self, kind: Kind, usable: Sequence[int]) -> int:
        """For how many slots room is made on agents with `usable` slots: on one agent for the smallest number that is
        asked for, on several agents for all of their slots."""
        together = sum(usable) if len(usable) > 1 else 0
        return min(max(kind.slots, together), kind.most)


FIRST = FirstTurnRules()
CURRENT = FirstTurnRules()
"""The rules by which pools decide now."""

"""What giving slots, and asking for them back, mean for later claims: found out once, when it is decided, and recorded.

The event has what was found, and a fold only reads it. So `NOW` may be corrected: the change has an effect on decisions
to come and on nothing that has happened. Events of the releases that recorded none of this are the exception. They are
read by `FirstReckoning`, which therefore must never change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resolute.proto.pool import Turn
from resolute.scheduling.demands import Kind
from resolute.scheduling.shares import Shares, Stake, ticks


class FirstReckoning:
    """The rules of the releases that did not record what they found."""

    def turn(self, shares: Shares, name: str, slots: int, asked: int, given: int, capacity: int) -> Turn:
        """A group that asked for so many at least was given `slots` of `capacity`, which it holds by now; the pool has
        given `given` with them. The clock goes on by them; where the group was due, what it was given is secure for a
        round."""
        group = shares.groups[name]
        before = replace(group, committed=group.committed - slots)
        due = before.is_due(asked, shares.now(given - slots), capacity, shares.weight)
        clock = shares.clock + ticks(slots, shares.weight)
        return Turn(str(clock), given + capacity if due else group.secure_until)

    def still_owed(self, stake: Stake | None, given: int, capacity: int) -> bool:
        """Whether what is asked back could not be kept for a round: until the pool gave as many slots as it has."""
        return stake is not None and given - stake.given_at.given < capacity

    def room_slots(self, kind: Kind, usable: Sequence[int]) -> int:
        """For how many slots room is made on agents that have so many: on one agent for the least that is asked for,
        on several for all of them."""
        together = sum(usable) if len(usable) > 1 else 0
        return min(max(kind.slots, together), kind.most)


FIRST = FirstReckoning()
NOW = FirstReckoning()
"""The rules by which pools decide now."""

"""What a policy is: an order among those who wait, and a rule for who may be asked to make room.

A policy is arithmetic over a pool, and nothing else. What is done with it (give, keep, ask for room) is the same for
all of them: see `passes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from resolute.proto.pool import Placement
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.placement import Fitting
from resolute.scheduling.pool import Pool


@dataclass(frozen=True, slots=True)
class Assign:
    allocation_id: str
    placements: tuple[Placement, ...]
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class Preempt:
    allocation_id: str
    reason: str
    rule: str
    for_allocation: str
    room_on: tuple[str, ...]


Decision = Assign | Preempt

Taken = Counter[str]
"""Slots that would be taken, by whose they are, in the words of the claim."""


class Claim(Protocol):
    """What one that waits may take from others."""

    def candidates(self) -> Iterator[Allocation]:
        """Who may be asked to go, the best to ask first."""

    def urgency(self, victim: Allocation) -> float:
        """How much it hurts to ask it: the larger, the less urgent. Candidates come with the largest first."""

    def owner(self, victim: Allocation) -> str:
        """Whose slots they are, as claims are counted."""

    def allows(self, victim: Allocation, taken: Taken) -> bool:
        """Whether it may be asked too, when `taken` is taken already."""

    def reason(self, victim: Allocation) -> str: ...


class Policy(Protocol):
    @property
    def name(self) -> str:
        """The rule, as events name it."""

    @property
    def fitting(self) -> Fitting: ...

    @property
    def preempts(self) -> bool:
        """Whether anybody may be asked to go before it is done."""

    def heads(self, pool: Pool) -> list[Allocation]:
        """The first in line of every kind of demand for slots, in the order in which they are to be given slots.

        Not those for whom room is being made, and none that its own job's max_slots holds.
        """

    def keeps(self, pool: Pool, head: Allocation) -> bool:
        """Whether room is kept for `head` when it does not fit yet, so that it is not overtaken for ever."""

    def may_pass(self, pool: Pool, head: Allocation, behind: Allocation) -> bool:
        """Whether `behind` may be given slots that `head`, which comes first, cannot use yet."""

    @property
    def one_queue(self) -> bool:
        """Whether all stand in one queue, however unlike what they ask for: only its first waits for slots alone."""

    @property
    def asks_before_passing(self) -> bool:
        """Whether others are asked to make room for a head that does not fit before those behind it are given slots:
        what they were given might be wanted back at once."""

    def most(self, pool: Pool, allocation: Allocation) -> int:
        """How many slots one that takes a range is given where there is room; never less than it takes at least."""

    def claim(self, pool: Pool, head: Allocation) -> Claim | None:
        """What it may take from others; None when nothing."""

    def standing(self, pool: Pool, allocation: Allocation) -> str:
        """Why it is where it is in the queue, in part of a sentence, with the numbers."""

    def claims(self, pool: Pool, allocation: Allocation) -> str:
        """What its place in the queue is, in part of a sentence that stays true while it is first of its line."""

    def has_its_share(self, pool: Pool, allocation: Allocation) -> bool:
        """Whether it would be more than its share."""

    def ahead(self, pool: Pool, allocation: Allocation, most: int) -> tuple[int, list[str]]:
        """How many jobs come before its own, and the first few of them."""

"""Who waits in line waits for what the first of the line waits for: which of the recorded reasons counts for whom.

The scheduler tells each that waits what holds it itself, and all others once that they are in line; who asks for the
same waits in one line. The first of a line, and the first of its job that a limit of the job holds, were told why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

IN_LINE, MAX_SLOTS, NEVER_FITS, FAIR_SHARE = "in_line", "max_slots", "never_fits", "fair_share"
NO_POOL = "no_pool"

OF_ITSELF = frozenset({"", IN_LINE, MAX_SLOTS, "making_room", NO_POOL})
"""Rules that are given as the reason to other allocations than the first of a line."""

OF_ALL = frozenset({NEVER_FITS, FAIR_SHARE})
"""What holds all of a line when it holds its first: who comes behind holds as much for its weight, or more."""


@dataclass(frozen=True, slots=True)
class Told:
    """One that waits, and what it was told last."""

    allocation_id: str
    job_id: str
    slots: int
    line: str
    rule: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The rule that holds one that waits, and who was told why; that is another where it waits in line."""

    rule: str
    told: Told


def what_counts(one: Told, waiting: Iterable[Told]) -> Counts:
    """`waiting`: all that wait in its pool, or at least those told anything else than that they are in line."""
    if one.rule != IN_LINE:
        return Counts(one.rule, one)
    told = [other for other in waiting if other.rule != IN_LINE]
    for other in told:
        if other.rule == MAX_SLOTS and (other.job_id, other.line) == (one.job_id, one.line):
            return Counts(MAX_SLOTS, other)
    first = [other for other in told if other.rule not in OF_ITSELF]
    for other in first:
        if other.line == one.line:
            return Counts(other.rule if other.rule in OF_ALL else IN_LINE, other)
    # Where all wait behind one, there is one line of those who need slots, whatever they ask.
    beside = (other for other in first if other.rule != NEVER_FITS and bool(other.slots) == bool(one.slots))
    return Counts(IN_LINE, next(beside, one))

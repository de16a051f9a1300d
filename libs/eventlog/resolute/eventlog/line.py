"""Who waits in line waits for what the first of the line waits for: which of the recorded reasons counts for whom.

The scheduler tells each that waits what holds it itself, and all others once that they are in line; who asks for the
same waits in one line. The first of a line, and the first of its job that a limit of the job holds, were told why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resolute.proto.queue import HOLDS_THE_WHOLE_LINE, TOLD_TO_THE_FIRST, WaitRule

TOLD_TO_OTHERS = frozenset({"", *WaitRule} - TOLD_TO_THE_FIRST)
"""Rules that are given as the reason to other allocations than the first of a line."""


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
    if one.rule != WaitRule.IN_LINE:
        return Counts(one.rule, one)
    told = [other for other in waiting if other.rule != WaitRule.IN_LINE]
    for other in told:
        if other.rule == WaitRule.MAX_SLOTS and (other.job_id, other.line) == (one.job_id, one.line):
            return Counts(WaitRule.MAX_SLOTS, other)
    first = [other for other in told if other.rule not in TOLD_TO_OTHERS]
    for other in first:
        if other.line == one.line:
            return Counts(other.rule if other.rule in HOLDS_THE_WHOLE_LINE else WaitRule.IN_LINE, other)
    # Where all wait behind one, there is one line of those who need slots, whatever they ask.
    beside = (other for other in first if other.rule != WaitRule.NEVER_FITS and bool(other.slots) == bool(one.slots))
    return Counts(WaitRule.IN_LINE, next(beside, one))

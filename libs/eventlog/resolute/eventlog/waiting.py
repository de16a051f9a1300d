"""Which recorded reason holds an allocation that waits, where it waits behind others.

Allocations that ask for the same slots wait in one *line*. The scheduler records the reason of the first allocation of
each line, and of the first one of a job that a limit of the job holds. For each of the others it records once that the
allocation is in line; such an allocation waits for what the first of its line waits for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resolute.proto.queue import HOLDS_THE_WHOLE_LINE, RULES_OF_THE_FIRST, WaitRule

RULES_OF_OTHERS = frozenset({"", *WaitRule} - RULES_OF_THE_FIRST)
"""Rules that are recorded as the reason of allocations that are not the first of a line."""


@dataclass(frozen=True, slots=True)
class WaitReason:
    """An allocation that waits, and the rule that was last recorded for it."""

    allocation_id: str
    job_id: str
    slots: int
    line: str
    rule: str


@dataclass(frozen=True, slots=True)
class EffectiveReason:
    """The rule that holds an allocation, and the allocation for which the reason was recorded: itself, or the first of
    its line."""

    rule: str
    recorded_for: WaitReason


def effective_reason(one: WaitReason, waiting: Iterable[WaitReason]) -> EffectiveReason:
    """`waiting`: the allocations that wait in the same pool, or at least those whose rule is not `in_line`."""
    if one.rule != WaitRule.IN_LINE:
        return EffectiveReason(one.rule, one)
    with_reason = [other for other in waiting if other.rule != WaitRule.IN_LINE]
    for other in with_reason:
        if other.rule == WaitRule.MAX_SLOTS and (other.job_id, other.line) == (one.job_id, one.line):
            return EffectiveReason(WaitRule.MAX_SLOTS, other)
    first = [other for other in with_reason if other.rule not in RULES_OF_OTHERS]
    for other in first:
        if other.line == one.line:
            return EffectiveReason(other.rule if other.rule in HOLDS_THE_WHOLE_LINE else WaitRule.IN_LINE, other)
    # Under a policy that serves one queue, all that need slots wait behind the first one, whatever they ask for.
    beside = (other for other in first if other.rule != WaitRule.NEVER_FITS and bool(other.slots) == bool(one.slots))
    return EffectiveReason(WaitRule.IN_LINE, next(beside, one))

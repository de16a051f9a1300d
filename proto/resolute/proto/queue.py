"""The words and ranges of the queue: why an allocation waits, by which policy slots are given, what a job may set.

In events, in REST and in the read model these are plain text: a field's type stays `str`, so that a release reads what
a newer one wrote. Code names them by these enums, and by nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeGuard


class WaitRule(StrEnum):
    """What holds an allocation that waits."""

    IN_LINE = "in_line"
    """Others come first."""
    BUSY = "busy"
    """It is the first in line, and others hold the slots."""
    WHOLE_AGENTS = "whole_agents"
    """Slots enough are free, but not on agents that are free altogether."""
    MAX_SLOTS = "max_slots"
    """The limit of its own job."""
    FAIR_SHARE = "fair_share"
    """Its job has its share."""
    MAKING_ROOM = "making_room"
    """Slots are being given back for it."""
    STARTING = "starting"
    """It is the first in line, and instances are on their way."""
    SUSPENDED = "suspended"
    """It is the first in line, and too many instances in a row could not be started."""
    NO_POOL = "no_pool"
    """The configuration of the cluster does not name its pool."""
    NEVER_FITS = "never_fits"
    """The pool as it is known could not hold it even when idle. An event of its own says so: AllocationHeldBack."""


RULES_OF_THE_FIRST = frozenset(
    {
        *(WaitRule.BUSY, WaitRule.WHOLE_AGENTS, WaitRule.FAIR_SHARE),
        *(WaitRule.STARTING, WaitRule.SUSPENDED, WaitRule.NEVER_FITS),
    }
)
"""Rules that are recorded for the first of a line, and count for those behind it as well."""

HOLDS_THE_WHOLE_LINE = frozenset({WaitRule.NEVER_FITS, WaitRule.FAIR_SHARE})
"""Rules that hold all allocations of a line when they hold its first: the others belong to groups that hold as much for
their weight, or more."""


class PolicyName(StrEnum):
    """By what a pool shares its slots: `scheduler.type` of its configuration, and the rule of what was placed."""

    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"
    FIFO = "fifo"


class OrderKey(StrEnum):
    """What the jobs of a queue are compared by, in this sequence; the smallest comes first."""

    SHARE = "share"
    """The slots that the job holds by its weight; where users share a pool, the slots of all jobs of its user."""
    PRIORITY = "priority"
    """Of the job's latest request, unless a person changed it."""
    POSITION = "position"
    """The number of the job's first request, unless a person moved it. Jobs at one position go by their ids."""


def order_of(policy: str, *, slots: bool) -> tuple[OrderKey, ...]:
    """By what the waiting jobs of a pool are served, one after another. `slots`: whether the jobs need any.

    Under fair share this says who holds least; how far each is below its share, which moves with what others hold and
    want, is known to the scheduler alone.
    """
    if not slots or policy == PolicyName.PRIORITY:
        return (OrderKey.PRIORITY, OrderKey.POSITION)
    if policy == PolicyName.FAIR_SHARE:
        return (OrderKey.SHARE, OrderKey.POSITION)
    return (OrderKey.POSITION,)


ZERO_SLOTS = "zero_slots"
"""The rule by which work that needs no slots is placed, whatever the policy."""


class Side(StrEnum):
    """Where a job is moved to: next to which side of its new neighbour."""

    AHEAD = "ahead"
    BEHIND = "behind"


class JobSetting(StrEnum):
    """What people may set of a job in the queue."""

    PRIORITY = "priority"
    WEIGHT = "weight"
    MAX_SLOTS = "max_slots"


PRIORITY_FIRST, PRIORITY_LAST = 1, 99
"""The range of a priority: smaller comes first."""
PRIORITY_DEFAULT = 42

WEIGHT_MOST = 1_000_000
"""The largest weight of a job. What is beyond is a slip, and sums of such would leave what numbers can hold."""

MAX_SLOTS_MOST = 2**31 - 1
"""The largest limit of a job, which is a column of the read model."""

PRIORITIES = f"{PRIORITY_FIRST} (first) to {PRIORITY_LAST} (last)"

WANTED: Mapping[JobSetting, str] = {
    JobSetting.PRIORITY: f"a whole number from {PRIORITIES}",
    JobSetting.WEIGHT: f"a number above 0, at most {WEIGHT_MOST:,}",
    JobSetting.MAX_SLOTS: f"a whole number from 0 to {MAX_SLOTS_MOST}, or null",
}
"""What would do, for the refusal of what would not."""


def may_be(setting: JobSetting, value: object) -> bool:
    """Whether a job may have this value."""
    match setting:
        case JobSetting.PRIORITY:
            return _is_whole(value) and PRIORITY_FIRST <= value <= PRIORITY_LAST
        case JobSetting.WEIGHT:
            return _is_number(value) and 0 < value <= WEIGHT_MOST
        case JobSetting.MAX_SLOTS:
            return value is None or (_is_whole(value) and 0 <= value <= MAX_SLOTS_MOST)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))

"""The states that the read model gives to allocations and their shares, and the phases of an active experiment.

The states of experiments, trials and checkpoints are in `resolute.proto.states`. Statements take their lists of states
from these enums: `sql_list` writes one.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class AllocationState(StrEnum):
    QUEUED = "QUEUED"
    ASSIGNED = "ASSIGNED"
    """It holds its slots; not all of its shares run yet."""
    RUNNING = "RUNNING"
    TERMINATING = "TERMINATING"
    """It was asked to end at once."""
    TERMINATED = "TERMINATED"


class ShareState(StrEnum):
    """Of the part of an allocation on one agent."""

    ASSIGNED = "ASSIGNED"
    RUNNING = "RUNNING"
    EXITED = "EXITED"


class Phase(StrEnum):
    """What people are shown of an active experiment or trial: how far its allocations have come."""

    QUEUED = "QUEUED"
    PULLING = "PULLING"
    """In requests only: no answer of this release has it."""
    STARTING = "STARTING"
    RUNNING = "RUNNING"


def sql_list(states: Iterable[StrEnum]) -> str:
    """The states as a list for `IN`, in quotes and brackets."""
    quoted = (f"'{state}'" for state in states)
    return f"({', '.join(quoted)})"

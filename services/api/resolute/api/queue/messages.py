"""The messages about the job queue."""

from __future__ import annotations

from resolute.api.kernel.fields import WireEnum
from resolute.api.kernel.messages import Message


class JobState(WireEnum, wire_name="jobv1State"):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    QUEUED = "STATE_QUEUED"
    SCHEDULED = "STATE_SCHEDULED"
    """At least one of its allocations holds its slots."""
    SCHEDULED_BACKFILLED = "STATE_SCHEDULED_BACKFILLED"
    """In requests only: no answer of this release has it."""


class JobSummary(Message, wire_name="v1JobSummary"):
    """How a job stands in the queue of its pool."""

    state: JobState
    jobs_ahead: int
    """How many jobs that wait are served before; 0 for a job that is scheduled."""

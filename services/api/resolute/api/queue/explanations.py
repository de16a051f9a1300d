"""The messages that say why a job waits, runs where it runs, or was asked to end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import Declared, OrAbsent
from resolute.api.kernel.kinds import bounded
from resolute.api.kernel.messages import InPath, Message, Request
from resolute.api.queue.messages import Job


class JobReference(Message):
    """A job that a reason speaks of. Of a job outside of the caller's scope, only the id is shown: everybody may know
    that the queue is not empty."""

    job_id: OrAbsent[str] = None
    name: OrAbsent[str] = None
    username: OrAbsent[str] = None
    experiment_id: OrAbsent[int] = None


class Holder(JobReference):
    """A job that holds slots of the pool."""

    slots: int


class Reason(Message):
    """Why something happened, as the scheduler recorded it."""

    rule: str
    reason: str
    time: datetime
    by: str
    """The user or the service that caused it."""


class FirstInLine(JobReference, Reason):
    """The allocation at the head of the line, and the reason that was recorded for it."""

    allocation_id: str
    since: datetime


class Waiting(Reason):
    """Why an allocation waits, as it stands now."""

    since: datetime
    slots_needed: int
    slots_free: int
    jobs_ahead: int
    ahead: tuple[JobReference, ...]
    """The first of the jobs ahead."""
    holders: tuple[Holder, ...]
    """The jobs that hold the most slots."""
    help: str
    """What would help, in commands where there are some."""
    first: OrAbsent[FirstInLine] = None
    """Absent where the allocation is itself the first in its line."""


class PlacedOn(Message):
    agent_id: str
    slot_ids: tuple[int, ...]


class Placed(Reason):
    agents: tuple[PlacedOn, ...]


class Preempted(Reason):
    """Why the allocation was asked to give its slots back."""

    deadline: datetime | None
    for_allocation: OrAbsent[str] = None
    """The allocation that is to have the slots, and its job."""
    for_: OrAbsent[JobReference] = None


class Ended(Message):
    end_time: datetime
    outcome: str | None
    reason: str
    exit_code: OrAbsent[int] = None


class EarlierAllocation(Message):
    """An allocation, and the reasons of what happened to it."""

    allocation_id: str
    task_id: str
    trial_id: int | None
    state: str
    slots: int
    resource_pool: str
    requested_time: datetime
    waits: OrAbsent[Waiting] = None
    placed: OrAbsent[Placed] = None
    preempted: OrAbsent[Preempted] = None
    killed: OrAbsent[Reason] = None
    ended: OrAbsent[Ended] = None


class ExplainedAllocation(EarlierAllocation):
    previous: OrAbsent[EarlierAllocation] = None
    """The last run of the same task before this one: what ended it is why its trial asks again."""


class ExplainJob(Request):
    job_id: InPath[Name]
    """The id of a job, or the number of an experiment."""


class ExplainedJob(Message, wire_name="ExplainJobResponse"):
    job_id: str
    job: Job | None
    """Null where the job asks for nothing now."""
    scheduler_type: str
    says: str
    """How the job stands, in a sentence."""
    allocations: tuple[Annotated[ExplainedAllocation, Declared(bounded("object"))], ...]
    """What the job asks for or holds now; of a job that has nothing now, the latest that it had."""

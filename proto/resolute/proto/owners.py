"""The services that ask for allocations and say what runs in them, and where each is asked: one table.

An allocation names its owner. The scheduler looks the owner up here and asks one question, `DescribeTask`, whatever
kind of task it is. A further kind of task is a further row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from resolute.proto.errors import NotFound
from resolute.proto.experiment import DescribeRun
from resolute.proto.message import Command
from resolute.proto.streams import Service
from resolute.proto.tasks import DescribeTask


@dataclass(frozen=True, slots=True)
class TaskOwner:
    """A service that owns tasks."""

    service: Service
    former_question: Callable[[DescribeTask], Command] | None = None
    """Makes the command by which release 0.1.0 asked for the same, and was answered with a `TaskSpec`: for as long as
    processes of that release may be the only ones of the service. Raises NotFound for a task that it did not know."""

    @property
    def subject(self) -> str:
        """The address on the bus at which the service is asked to describe a task."""
        return f"resolute.task.{self.service}.describe"


def _describe_run(question: DescribeTask) -> Command:
    if question.experiment_id is None or question.trial_id is None:
        raise NotFound(f"task {question.task_id} belongs to no trial")
    return DescribeRun(question.experiment_id, question.trial_id, question.allocation_id)


SEARCHER = TaskOwner(Service.SEARCHER, _describe_run)
TASKS = TaskOwner(Service.TASKS)

OWNERS: Mapping[str, TaskOwner] = {owner.service.value: owner for owner in (SEARCHER, TASKS)}
"""By the name that an allocation has of its owner."""

FORMERLY = SEARCHER
"""The owner of allocations that name none: release 0.1.0 recorded no owner, and trials were its only tasks."""


def owner_named(name: str) -> TaskOwner | None:
    """None for an owner that only a later release knows."""
    return OWNERS.get(name) if name else FORMERLY

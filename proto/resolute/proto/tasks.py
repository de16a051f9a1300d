"""What runs in an allocation: the one question to the task's owner, and the answer, which an agent is given.

The owner of an allocation is the service that asked for it. `resolute.proto.owners` says where each owner is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from resolute.proto.experiment import AgentUser
from resolute.proto.message import Json
from resolute.proto.needs import TaskNeeds


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Everything an agent needs to start one task, apart from its slots and its token."""

    task_id: str
    task_type: str
    """TRIAL; later NOTEBOOK, SHELL, COMMAND, TENSORBOARD, GENERIC."""
    allocation_id: str
    experiment_id: int | None
    trial_id: int | None
    run_id: int
    owner: str
    config: Json
    """The merged experiment configuration."""
    hparams: Json
    seed: int
    steps_completed: int
    checkpoint: str | None
    target: int | None = None
    """How far to train in all, in the unit of `searcher.max_length`; null where the search sets no targets."""
    target_reached: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    """Variables the user's configuration adds."""
    agent_user: AgentUser | None = None
    """Whom it runs as where the runtime can; None for whomever the agent or the image says."""
    needs: TaskNeeds | None = None
    """What it needs of its host; None where its owner is of an earlier release, and only the configuration says it."""


@dataclass(frozen=True, slots=True)
class DescribeTask:
    """Ask the owner of an allocation what to run in it; nothing is written. Answered by a TaskDescription."""

    allocation_id: str
    task_id: str
    experiment_id: int | None = None
    """This and `trial_id`: the numbers by which the owner knows the task, as the owner gave them with its request."""
    trial_id: int | None = None


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """What to run in an allocation, or why nothing is to run there: exactly one of the two is given."""

    spec: TaskSpec | None = None
    refusal: str = ""
    """The allocation is ended, with this reason."""

    def __post_init__(self) -> None:
        assert (self.spec is None) == bool(self.refusal), "a description is a specification or a refusal"

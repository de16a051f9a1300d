"""What runs in an allocation: the one question to the task's owner, and the answer, which an agent is given.

The owner of an allocation is the service that asked for it. `resolute.proto.owners` says where each owner is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resolute.proto.experiment import AgentUser
from resolute.proto.message import Json
from resolute.proto.needs import TaskNeeds


@dataclass(frozen=True, slots=True)
class ServicePort:
    """The port at which a task serves people. The agent that starts the task picks a free one of the range."""

    variable: str
    """The environment variable in which the task finds the number."""
    first: int
    last: int
    tcp: bool = False
    """Whether what is served there is not HTTP: the gateway then carries bytes, in a WebSocket."""

    def __post_init__(self) -> None:
        assert 0 < self.first <= self.last <= 65_535, "a range of ports has a first and a last one"


@dataclass(frozen=True, slots=True)
class ProxiedPort:
    """A port of a task that the gateway makes reachable at `/proxy/<task>:<number>/`."""

    number: int
    tcp: bool = False
    default: bool = False
    """Whether it is also reached without its number, at `/proxy/<task>/`."""


def proxied_ports(config: Json) -> tuple[ProxiedPort, ...]:
    """The ports in `environment.proxy_ports` of a configuration."""
    environment = (config.get("environment") if isinstance(config, Mapping) else None) or {}
    return tuple(
        ProxiedPort(port["proxy_port"], bool(port.get("proxy_tcp")), bool(port.get("default_service_id")))
        for port in environment.get("proxy_ports") or ()
    )


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
    service: ServicePort | None = None
    """Where the task serves people, beside the ports that its configuration names."""


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

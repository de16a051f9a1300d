"""How a gateway reaches a port of a task: the agent of the task is asked to dial, and connects to both of them.

No port of an agent's host has to be open to others. The gateway publishes a DialTask for the agent; the agent connects
to the task, then to the gateway's listener for agents, and sends a line there: a Greeting, as JSON. After that line the
agent copies bytes in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

GREETING_BYTES_MAX = 4096
"""The longest line with which a connection of an agent begins."""


class Hop(StrEnum):
    """The part of the way to a task at which a connection failed."""

    AGENT = "agent"
    """From the gateway to the agent, over the bus."""
    GATEWAY = "gateway"
    """From the agent back to the gateway's listener."""
    TASK = "task"
    """From the agent to the port of the task."""


@dataclass(frozen=True, slots=True)
class DialTask:
    """Ask an agent to connect a port of one of its tasks with a gateway. Only a failure is answered on the bus."""

    resources_id: str
    port: int | None
    """None for the port at which the task serves people."""
    host: str
    """The gateway's listener for agents."""
    listener_port: int
    secure: bool
    """Whether the listener speaks TLS, with the gateway's certificate."""
    ticket: str = field(repr=False)
    """Proves to the gateway that a connection is the one that it asked for. It is good for one."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The first line of a connection that an agent opens to a gateway."""

    ticket: str = field(repr=False)
    tcp: bool = False
    """Whether the port is declared as one that does not speak HTTP."""
    problem: str = ""
    """Why the port of the task was not reached; the connection is then closed."""


@dataclass(frozen=True, slots=True)
class DialFailed:
    """An agent could not connect to the gateway that asked for it."""

    agent_id: str
    ticket_digest: str
    """SHA-256 of the ticket."""
    why: str


TASK_USED = "resolute.task.tasks.used"
"""The address on the bus at which the service `tasks` is told that a task is used."""


@dataclass(frozen=True, slots=True)
class TaskUsed:
    """Somebody used what a task serves. A gateway says so at most every 15 s for a task; nothing is written."""

    task_id: str

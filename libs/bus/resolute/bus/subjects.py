"""Subjects: the addresses of the bus. One grammar, in one place.

`resolute.cmd.<service>.<verb>` for commands, `resolute.evt.<category>.<id>.<Type>` for facts,
`resolute.agent.<agent>.<what>` for the conversation with one agent, `resolute.task.<service>.describe` for the question
what to run in an allocation (`resolute.proto.owners`).
"""

from __future__ import annotations

import re
from typing import Any

from resolute.proto.errors import Forbidden
from resolute.proto.message import Command, Recorded, verb

_TOKEN = re.compile(r"[^A-Za-z0-9_-]")


def token(name: str) -> str:
    """`name` as one token of a subject: dots, spaces and wildcards would be read as structure."""
    return _TOKEN.sub("_", name) or "_"


def command(message: Command | type[Command]) -> str:
    return f"resolute.cmd.{message.service}.{verb(message)}"


def fact(recorded: Recorded) -> str:
    return f"resolute.evt.{recorded.category}.{token(recorded.key)}.{type(recorded.event).__name__}"


def agent(agent_id: str, what: str) -> str:
    """`agent_id` is a name, or `*` for every agent."""
    return f"resolute.agent.{agent_id if agent_id == '*' else token(agent_id)}.{what}"


def check_speaker(subject: str, message: Any) -> None:
    """Check that a message on an agent's subject names that agent.

    NATS lets an agent publish on its own subjects only, so an agent cannot send messages in the name of another.
    Raises Forbidden for a message that names another agent.
    """
    tokens = subject.split(".")
    if tokens[:2] != ["resolute", "agent"]:
        return
    for signed in (message, *getattr(message, "lines", ())):
        agent_id = getattr(signed, "agent_id", None)
        if agent_id is not None and token(agent_id) != tokens[2]:
            raise Forbidden(
                f"{type(message).__name__} on {subject} names agent {agent_id!r}, which has subjects of its own"
            )


def check_reply(subject: str, reply: str) -> None:
    """Check that the answer to a request goes to an inbox.

    A process that answers may publish on more subjects than the one that asks. If the asker could name any subject for
    the answer, it could publish there with the rights of the answering process. Raises Forbidden for any other
    subject, such as one of another agent or of JetStream.
    """
    if reply and not reply.startswith("_INBOX"):
        raise Forbidden(f"a message on {subject} wants its answer on {reply!r}; an inbox would do")

"""Subjects: the addresses of the bus. One grammar, in one place.

`resolute.cmd.<service>.<verb>` for commands, `resolute.evt.<category>.<id>.<Type>` for facts,
`resolute.agent.<agent>.<what>` for the conversation with one agent.
"""

from __future__ import annotations

import re

from resolute.proto.message import Command, Recorded, verb

_TOKEN = re.compile(r"[^A-Za-z0-9_-]")


def token(name: str) -> str:
    """`name` as one token of a subject: dots, spaces and wildcards would be read as structure."""
    return _TOKEN.sub("_", name) or "_"


def command(message: Command | type[Command]) -> str:
    return f"resolute.cmd.{message.service}.{verb(message)}"


def fact(recorded: Recorded) -> str:
    category, _, stream_id = recorded.stream.partition("-")
    return f"resolute.evt.{category}.{token(stream_id)}.{type(recorded.event).__name__}"


def agent(agent_id: str, what: str) -> str:
    """`agent_id` is a name, or `*` for every agent."""
    return f"resolute.agent.{agent_id if agent_id == '*' else token(agent_id)}.{what}"

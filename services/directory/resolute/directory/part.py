"""One thing that the directory decides about: its commands, its streams, its aggregate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from resolute.proto.message import Command, Event, Object

State = TypeVar("State")

USERS_KEPT = 100
"""Of so many users the sessions and the settings stay folded; of others they are read from the log when they are asked
for."""


@dataclass(frozen=True, slots=True)
class Seed(Generic[State]):
    """What a new cluster has from the beginning."""

    stream: str
    decide: Callable[[State], Sequence[Event]]


@dataclass(frozen=True, eq=False)
class Part(Generic[State]):
    """The shell sends each of `commands` to `decide`, with the state of the stream that the command is about."""

    commands: frozenset[type[Command]]
    stream_of: Callable[[Any], str]
    """The stream that a command is about."""
    initial: Callable[[], State]
    decide: Callable[[Any, State], list[Event]]
    evolve: Callable[[State, Event], State]
    ids: Mapping[type[Event], str]
    """The field with the id of what was created, by the event that says so. The reply to a command has it."""
    seed: Seed[State] | None = None
    of_workspace: Callable[[int], Command] | None = None
    """The command that removes what this part keeps of a workspace, by the workspace's number. It is decided when the
    workspace is deleted, and it must be harmless to decide it again."""
    keep: int = 1_000
    """How many streams stay folded in memory. Others are read from the log when they are asked for."""

    def made(self, event: Event) -> Object:
        """The id of what was created, for the caller who asked for it."""
        field = self.ids.get(type(event))
        return {field: getattr(event, field)} if field else {}

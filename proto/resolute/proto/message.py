"""Commands and events: what may be wished for, and what has happened, as frozen dataclasses.

A command is a wish, named in the imperative; an event is a fact, named in the past tense. The name of the
class is its name on the bus and in the log. Both hold plain data only (strings, numbers, lists, maps, other
frozen dataclasses), so that they mean the same to every service, release and language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from resolute.proto.streams import category_of, key_of

Json = Any
"""A value JSON can hold. User-supplied documents (configs, hyperparameters, metadata) travel as this."""

Object = dict[str, Any]


class Event:
    """A fact. Subclasses are frozen dataclasses; `category` is the kind of stream they are written to, one of
    `resolute.proto.streams`."""

    __slots__ = ()
    schema_version: ClassVar[int] = 1
    category: ClassVar[str] = ""
    sentence: ClassVar[str] = ""
    """How `resolute log show` tells it to people, with the names of fields in braces: `model {model_id} was archived`.
    Empty where the sentence needs more than that: then `resolute.eventlog.sentences` makes it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A slotted dataclass is made twice, bare and then whole; the whole one is the message.
        if "__dataclass_fields__" in cls.__dict__:
            EVENTS[cls.__name__] = cls


class Command:
    """A wish. Subclasses are frozen dataclasses; `service` is the one that decides them."""

    __slots__ = ()
    service: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__dataclass_fields__" in cls.__dict__:
            COMMANDS[cls.__name__] = cls


EVENTS: dict[str, type[Event]] = {}
COMMANDS: dict[str, type[Command]] = {}


def verb(command: type[Command] | Command) -> str:
    """The last token of a command's subject: AssignSlots -> assign-slots."""
    name = command.__name__ if isinstance(command, type) else type(command).__name__
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something is being written: who wished it, with which message, as part of what.

    `id` is unique to the message being handled; within a stream it is used once, so that handling a message
    twice writes once. `correlation_id` is shared by everything that follows from one outside request.
    """

    id: str
    actor: str = "system"
    correlation_id: str = ""
    traceparent: str | None = None

    def then(self, step: str) -> Cause:
        """The cause of a follow-up to this one: same story, an id of its own, the same on every attempt."""
        return Cause(f"{self.id}/{step}", self.actor, self.correlation_id or self.id, self.traceparent)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log holds it."""

    position: int
    """Its place in the whole log: 1, 2, 3 … without gaps, in the order of commit."""
    stream: str
    version: int
    """Its place in its stream: 1, 2, 3 …"""
    event: Event
    cause: Cause
    recorded_at: datetime
    prev_hash: str = ""
    """SHA-256, in hex, over the stream's previous event; empty for the first."""

    @property
    def category(self) -> str:
        return category_of(self.stream)

    @property
    def key(self) -> str:
        """What its stream is called within the category: `7` of `experiment-7`."""
        return key_of(self.stream)

    @property
    def id(self) -> str:
        """Unique over the cluster's life; what a reaction to this event uses as its cause."""
        return f"evt-{self.position}"

    @property
    def cause_of_reactions(self) -> Cause:
        """The cause of what a service does because of this event: an id of its own, with the event's correlation id."""
        story = self.cause
        return Cause(self.id, story.actor, story.correlation_id or story.id, story.traceparent)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answers to a command: where in the log the outcome stands, and any data asked for."""

    position: int = 0
    """Every read model that has reached this position shows the outcome."""
    data: Mapping[str, Json] = field(default_factory=dict)

"""The interface of the event log: what an append promises, and what a reader may rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from resolute.eventlog.chain import Break, Row
from resolute.proto.message import Cause, Event, Recorded


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of an append."""

    events: tuple[Recorded, ...]
    """Equal to what a reader will get, including the order of the keys of a document."""
    repeated: bool = False
    """The same cause had been written before: `events` are those that were written then, and no event was added."""

    @property
    def position(self) -> int:
        return self.events[-1].position if self.events else 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A folded state, kept to save folding again. A cache: deleting it costs time only."""

    stream: str
    version: int
    schema: str
    """Names the code that made the state. A snapshot of another schema is ignored."""
    state: bytes


@dataclass(frozen=True, slots=True)
class Aside:
    """A note that a consumer could not handle an event."""

    consumer: str
    position: int
    error: str
    noted_at: datetime
    again_at: datetime | None = None
    """When a person asked that the event be handled again; None when it was not asked, or has been handled since."""
    stream: str | None = None
    """The stream of the event; None when the log has no event at this position."""
    version: int | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """A search for events. An event is found when it meets every condition that is given; empty ones are ignored."""

    after: int = 0
    """Only events at later positions."""
    stream: str = ""
    caused_by: str = ""
    correlation_id: str = ""
    """Of the request from outside that the events follow from. Such a search reads the whole log after `after`."""
    types: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Names of fields: at least one of them must have one of `values`. Such a search reads the whole log."""
    values: tuple[str, ...] = ()


class EventLog(Protocol):
    """One append-only log of everything. Positions are 1, 2, 3 … without gaps, in the order of commit.

    A reader that has seen position n will never be shown a smaller one later. Every method raises `Unavailable`
    while the database is away; an append that raises it may or may not have been written, and is safe to repeat
    with the same cause.
    """

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        """Append `events` as one unit, durably; readers see all of them or none, in the order of commit.

        Raises WrongVersion, having written nothing, when the stream is not at `expected_version`. When `cause.id`
        has already been written to the stream, returns what was written then, whatever version was expected. Without
        events it only looks for the cause, and returns an empty outcome when the cause is new.
        """
        ...

    async def read_stream(self, stream: str, after_version: int = 0, limit: int | None = None) -> list[Recorded]:
        """The stream's events with a version above `after_version`, in order, all or the first `limit` of them;
        empty for an unknown stream."""
        ...

    async def stream_names(self, category: str) -> list[str]:
        """The names of all streams of a category, in order."""
        ...

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        """Up to `limit` events of every stream with a position above `after`, in order."""
        ...

    async def read_next(self, after: int, limit: int = 1000) -> list[Recorded]:
        """As `read_all`, but may return fewer events than there are; an empty list still means that there are none.
        For readers that call this until the list is empty. Events that this process has just appended are usually
        returned from its memory, without a query."""
        ...

    async def find(self, sought: Sought, limit: int) -> list[Row]:
        """The first `limit` of these events in the order of the log, undecoded: any release can show them."""
        ...

    async def head(self) -> int:
        """The position of the last event; 0 for an empty log."""
        ...

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the log holds an event after `position`; False when `timeout_s` passes first."""
        ...

    async def reserve(self, sequence: str, count: int = 1) -> range:
        """Fresh numbers of the named sequence (`experiment`, `trial` …), never handed out before."""
        ...

    async def load_snapshot(self, stream: str, schema: str) -> Snapshot | None: ...

    async def save_snapshot(self, snapshot: Snapshot) -> None: ...

    async def load_position(self, consumer: str) -> int:
        """The position up to which `consumer` has handled the log; 0 at first."""
        ...

    async def save_position(self, consumer: str, position: int) -> None:
        """Save the position of `consumer`. A position below the saved one is ignored."""
        ...

    async def set_aside(self, consumer: str, position: int, error: str) -> None:
        """Keep a note, for a person to read, that `consumer` could not handle the event at `position`."""
        ...

    async def asides(self) -> list[Aside]:
        """What consumers could not handle, the oldest note first."""
        ...

    async def ask_again(self, consumer: str, position: int) -> bool:
        """Ask `consumer` to handle the event at `position` again; False when the event was not set aside."""
        ...

    async def asked_again(self, consumer: str) -> list[int]:
        """The positions of the events that `consumer` was asked to handle again."""
        ...

    async def settle(self, consumer: str, position: int) -> None:
        """Delete the note of `set_aside`: the event has been handled."""
        ...

    async def begin_attempt(self, consumer: str, position: int, run: str) -> int:
        """Note durably that `run` begins to handle the event at `position`; returns how many other runs began it and
        did not finish. A run is the life of one process, from its start to its end. Notes of earlier positions are
        deleted."""
        ...

    async def forget_attempts(self, consumer: str, position: int, run: str | None = None) -> None:
        """Delete the notes up to and including `position`, those of `run` or those of all runs."""
        ...

    async def forget_attempts_of(self, prefix: str, *, but: str) -> None:
        """Forget all notes of consumers whose name begins with `prefix`, except those of the consumer `but`."""
        ...

    async def verify(self) -> Break | None:
        """Check the whole hash chain; returns the first place where the log differs from what was written, or None."""
        ...

    async def close(self) -> None: ...

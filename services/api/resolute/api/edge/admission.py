"""Which connections have room: strangers, users and tasks have rooms of their own, and no kind can fill another's.

A new connection is a stranger's, and is always worth more than an old one whose client keeps the gateway waiting: so
strangers that send nothing, send slowly or do not read cannot keep anybody out. They are ended to make room, the
oldest of the busiest address first. A client that sends its request at once is served before its turn comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Protocol

from resolute.api.edge.limits import ConnectionLimits, Rooms

GRACE_S = 1.0
"""Younger connections are not ended to make room within their address: what they sent may be on its way."""

LOOKED_AT = 64
"""Connections that are considered for ending; the oldest come first, so one of these is nearly always found."""


class Kind(StrEnum):
    STRANGER = "stranger"
    USER = "user"
    TASK = "task"


class Link(Protocol):
    """A connection as admission needs it."""

    def awaits_client(self) -> bool:
        """Whether the next move is the client's: a handshake, a request, more of a body, or reading an answer."""

    def drop(self, reason: str) -> None:
        """Close it at once."""


@dataclass(eq=False, slots=True)
class Entry:
    """One connection that was let in."""

    link: Link
    address: str
    opened_at: float
    limited: bool = True
    """Whether the limit by address counts: not for a trusted proxy, whose address many clients share."""
    kind: Kind = Kind.STRANGER
    caller: str = ""


Entries = dict[Entry, None]
"""In the order of coming."""


@dataclass(slots=True)
class Admission:
    limits: ConnectionLimits
    rooms: Rooms
    strangers: Entries = field(default_factory=dict)
    by_address: dict[str, Entries] = field(default_factory=dict)
    """Strangers only."""
    by_caller: dict[str, int] = field(default_factory=dict)
    users: int = 0
    tasks: int = 0

    def enter(self, link: Link, address: str, now: float, *, limited: bool = True) -> Entry | None:
        """Let a new connection in; None where there is no room, and none can be made."""
        if len(self.strangers) >= self.rooms.strangers and not self._make_room(self._busiest(), now, grace_s=0):
            return None
        here = self.by_address.get(address, {})
        if limited and len(here) >= self.limits.per_address:
            self._make_room(here, now, grace_s=GRACE_S)
        entry = Entry(link, address, now, limited)
        self._add_stranger(entry)
        return entry

    def leave(self, entry: Entry) -> None:
        """The connection has ended, or its room is needed. Leaving twice is leaving once."""
        if entry.kind is Kind.STRANGER:
            self._remove_stranger(entry)
        else:
            self._release(entry)
            entry.kind = Kind.STRANGER

    def recognise(self, entry: Entry, kind: Kind, caller: str) -> str | None:
        """Count the connection for `caller` from now on. Otherwise it stays what it was: the answer says which limit
        stands against it."""
        if (entry.kind, entry.caller) == (kind, caller):
            return None
        if self.by_caller.get(caller, 0) >= self.limits.per_caller:
            return f"{self.limits.per_caller} connections are open with these credentials (connections.per_caller)"
        room = self.rooms.users - self.users if kind is Kind.USER else self.rooms.known - self.users - self.tasks
        if room <= 0 or self.users + self.tasks >= self.rooms.known:
            return "as many connections are open as the gateway keeps (connections.max)"
        self.leave(entry)
        entry.kind, entry.caller = kind, caller
        self.by_caller[caller] = self.by_caller.get(caller, 0) + 1
        self._count(kind, 1)
        return None

    # ---------------------------------------------------------------- making room

    def _busiest(self) -> Entries:
        return max(self.by_address.values(), key=len, default={})

    def _make_room(self, among: Entries, now: float, *, grace_s: float) -> bool:
        """End the oldest of these that its client keeps waiting; False where there is none."""
        for entry in islice(among, LOOKED_AT):
            if now - entry.opened_at < grace_s:
                return False
            if entry.link.awaits_client():
                self.leave(entry)
                entry.link.drop("made room")
                return True
        return False

    # ---------------------------------------------------------------- counting

    def _add_stranger(self, entry: Entry) -> None:
        self.strangers[entry] = None
        self.by_address.setdefault(entry.address, {})[entry] = None

    def _remove_stranger(self, entry: Entry) -> None:
        self.strangers.pop(entry, None)
        here = self.by_address.get(entry.address)
        if here is not None:
            here.pop(entry, None)
            if not here:
                del self.by_address[entry.address]

    def _release(self, entry: Entry) -> None:
        left = self.by_caller[entry.caller] - 1
        if left:
            self.by_caller[entry.caller] = left
        else:
            del self.by_caller[entry.caller]
        self._count(entry.kind, -1)

    def _count(self, kind: Kind, difference: int) -> None:
        if kind is Kind.USER:
            self.users += difference
        else:
            self.tasks += difference

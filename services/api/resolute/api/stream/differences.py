"""What a listener is sent: pure comparisons of what it knows with what there is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from resolute.api import wire
from resolute.api.scope import Scope
from resolute.api.stream.kinds import Kind, Row
from resolute.api.stream.ranges import Id, written_ids


@dataclass
class Subscription:
    """What a client wants to know of one kind of objects, and what it knows."""

    kind: Kind
    scope: Scope
    """Where the caller may see such objects."""
    wanted: Mapping[str, frozenset[Id]]
    """By facet: an object matches that has one of the values of one of them."""
    everything: bool = False
    """Whether all objects within the scope match."""
    known: set[Id] = field(default_factory=set)
    since: int = 0
    """The largest `seq` that the client has seen of this kind; 0 where it does not say."""
    shown: int = 0
    """The position up to which the client has been shown what there is."""

    def matches(self, row: Row | None) -> bool:
        if row is None or not self.scope.covers(row.workspace_id):
            return False
        facets = self.kind.facets
        return self.everything or any(row.columns[facets[name]] in values for name, values in self.wanted.items())


@dataclass
class Changes:
    """What events changed about objects of one kind. All listeners share it."""

    kind: Kind
    end: int
    """The position of the last of the events."""
    changed: Mapping[Id, int]
    """The objects that were changed, and the positions of the last events that did."""
    rows: Mapping[Id, Row]
    """Those that there are, as they are at `end` or later."""
    rechecked: frozenset[Id] | None = None
    """Objects that were looked up because some of those that listeners know may be gone; None where none may be."""
    _written: dict[tuple[Id, int], str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.changed) + 1

    def message(self, id_: Id, seq: int) -> str:
        """What clients are sent of an object; it is written once for all of them."""
        found = self._written.get((id_, seq))
        if found is None:
            found = self._written[id_, seq] = self.rows[id_].message(seq)
        return found


def deletion(kind: Kind, ids: Collection[Id]) -> str:
    return wire.dumps({kind.deleted: written_ids(ids, numbered=kind.numbered)}).decode()


def sequenced(positions: Iterable[tuple[Id, int]]) -> Iterator[tuple[Id, int]]:
    """Each object with the `seq` of its message, in the order of the messages.

    A client that comes again is told what happened after its largest `seq`. Of objects that one event changed, only the
    last message has the position of the event: a connection that broke between them loses none.
    """
    ordered = sorted(positions, key=lambda pair: (pair[1], str(pair[0])))
    for place, (id_, position) in enumerate(ordered):
        is_last = place + 1 == len(ordered) or ordered[place + 1][1] > position
        yield id_, position if is_last else position - 1


def news(subscription: Subscription, changes: Changes) -> Iterator[str]:
    """The messages for one listener. What it knows afterwards is noted in its subscription."""
    known, matches = subscription.known, subscription.matches
    changed = {id_: position for id_, position in changes.changed.items() if position > subscription.shown}
    looked_up = changed.keys() | (changes.rechecked or frozenset())
    gone = {id_ for id_ in known & looked_up if not matches(changes.rows.get(id_))}
    if gone:
        known -= gone
        yield deletion(subscription.kind, gone)
    arrived = [(id_, position) for id_, position in changed.items() if matches(changes.rows.get(id_))]
    for id_, seq in sequenced(arrived):
        known.add(id_)
        yield changes.message(id_, seq)
    subscription.shown = max(subscription.shown, changes.end)

"""One reader of the log for all listeners of a gateway: what an event changed is read once, and handed to all of them.

Nothing is polled. A listener is only handed changes of the kinds of objects that it subscribes to; what of them it is
sent, it finds out itself (`differences.news`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import structlog
from prometheus_client import Counter as Counted
from prometheus_client import Gauge

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.stream.differences import Changes
from resolute.api.stream.kinds import KINDS, Kind, Row
from resolute.api.stream.limits import StreamLimits
from resolute.api.stream.queries import StreamQueries
from resolute.api.stream.ranges import Id
from resolute.api.stream.recent import Recent
from resolute.api.stream.touched import RightsChange, Touch, rights_touched, touched
from resolute.eventlog import EventLog
from resolute.proto.errors import Refused, Unavailable, refuse
from resolute.proto.message import Recorded

log_ = structlog.get_logger()

LISTENERS = Gauge("resolute_api_stream_listeners", "Clients that are connected to /stream")
CHANGED = Counted("resolute_api_stream_changes", "Changed objects that were read for listeners", ["kind"])

ROWS_AT_ONCE = 1_000


class Listens(Protocol):
    """What the fan-out knows of a listener."""

    user_id: int

    def listens_to(self, kind: str) -> bool: ...

    def known(self, kind: str) -> Iterable[Id] | None:
        """The ids of such objects that the client knows, or will know soon; None where it does not subscribe."""

    def offer(self, changes: Changes) -> None:
        """Take note of changes, without waiting."""

    def check_rights(self) -> None:
        """Look soon whether the caller has the same rights still."""

    def fail(self) -> None:
        """Changes could not be read: the client has to come again."""


class Fanout:
    """A `Consumer` of the log."""

    def __init__(self, read: ReadModel, log: EventLog, queries: StreamQueries, limits: StreamLimits) -> None:
        self._read, self._log, self.queries, self.limits = read, log, queries, limits
        self._listeners: set[Listens] = set()
        self._per_user = Counter[int]()
        self._begun: int | None = None
        """The position up to which events were taken, if their changes are not handed out yet. None before the first
        look at the log."""
        self.recent = Recent(log)

    # ------------------------------------------------------------ listeners

    def join(self, listener: Listens) -> None:
        """Raises Refused where there are too many."""
        if (refused := self._full(listener.user_id)) is not None:
            raise refused
        self._listeners.add(listener)
        self._per_user[listener.user_id] += 1
        LISTENERS.inc()

    def _full(self, user_id: int) -> Refused | None:
        limits = self.limits
        if self._per_user[user_id] >= limits.per_user:
            return refuse("listen", f"you have {limits.per_user} listeners at this gateway already", "close one first")
        if len(self._listeners) >= limits.max:
            return refuse("listen", f"this gateway has {limits.max} listeners already", "try another one, or later")
        return None

    def leave(self, listener: Listens) -> None:
        if listener in self._listeners:
            self._listeners.discard(listener)
            self._per_user[listener.user_id] -= 1
            if not self._per_user[listener.user_id]:
                del self._per_user[listener.user_id]
            LISTENERS.dec()

    # ------------------------------------------------------------ following the log

    async def position(self) -> int:
        """From here on the log is followed. Listeners read the tables for what was before."""
        if self._begun is None:
            head = await self._log.head()
            if self._begun is None:
                self._begun = head
                self.recent.begin(head)
        return self._begun

    async def reached(self, since: int) -> int:
        """A position which answers show from now on, and after which all changes are handed out. It is not before
        `since`, unless the log ends before that."""
        position = max(await self.position(), self._read.shown)
        if since > position:
            position = max(position, min(since, await self._log.head()))
        await self._read.reached(position)
        return position

    async def handle(self, batch: Sequence[Recorded]) -> None:
        end = batch[-1].position
        touches = [(one.position, touch) for one in batch for touch in touched(one)]
        self._begun = max(end, await self.position())
        self.recent.add(end, touches)
        if not self._listeners:
            return
        try:
            await self._hand_out(end, touches)
        except Unavailable:
            raise  # the follower comes again with the same events
        except Exception:
            log_.exception("changes could not be read for listeners")
            for listener in list(self._listeners):
                listener.fail()
        await self._have_rights_checked(end, {found for one in batch if (found := rights_touched(one.event))})

    async def _have_rights_checked(self, end: int, touched_rights: Collection[RightsChange]) -> None:
        if touched_rights:
            await self._read.reached(end)  # the roles are those of the tables
        for listener in list(self._listeners):
            if any(rights.concern(listener.user_id) for rights in touched_rights):
                listener.check_rights()

    async def _hand_out(self, end: int, touches: Sequence[tuple[int, Touch]]) -> None:
        """Everything is read before anything is handed out, so that nothing is handed out twice after an outage."""
        found = []
        for name in dict.fromkeys(touch.kind for _, touch in touches):
            kind = KINDS[name]
            of_kind = [(position, touch) for position, touch in touches if touch.kind == name]
            if any(listener.listens_to(name) for listener in self._listeners):
                await self._read.reached(end)
                found.append(await self.changes(kind, end, of_kind))
        for changes in found:
            CHANGED.labels(changes.kind.name).inc(len(changes.changed))
            for listener in list(self._listeners):
                if listener.listens_to(changes.kind.name):
                    listener.offer(changes)

    async def changes(self, kind: Kind, end: int, touches: Sequence[tuple[int, Touch]]) -> Changes:
        """What `touches`, all of this kind, come to."""
        by: dict[str, dict[Id, int]] = {}
        recheck = False
        for position, touch in touches:
            if touch.by:
                by.setdefault(touch.by, {})[touch.value] = position
            recheck = recheck or not touch.by
        changed = dict(by.pop("id", {}))
        rows: dict[Id, Row] = {}
        for lookup, values in by.items():
            for row in await self._rows(kind, lookup, list(values)):
                rows[row.id] = row
                position = values[row.columns[kind.lookups[lookup]]]
                changed[row.id] = max(position, changed.get(row.id, 0))
        rechecked = self._known(kind) if recheck else None
        wanted = (changed.keys() | (rechecked or frozenset())) - rows.keys()
        rows |= {row.id: row for row in await self._rows(kind, "id", list(wanted))}
        return Changes(kind, end, changed, rows, rechecked)

    def _known(self, kind: Kind) -> frozenset[Id]:
        known = (listener.known(kind.name) for listener in self._listeners)
        return frozenset(id_ for ids in known if ids is not None for id_ in ids)

    async def _rows(self, kind: Kind, by: str, values: Sequence[Id]) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(values), ROWS_AT_ONCE):
            found += await self.queries.rows(kind, by, values[start : start + ROWS_AT_ONCE])
        return found

    async def changed_between(self, kind: Kind, since: int, upto: int) -> dict[Id, int] | None:
        """The objects that events after `since` and up to `upto` changed, and where; None where that is too long ago to
        say. Some that later events changed may be among them."""
        touches = await self.recent.between(since, upto, kind.name)
        if touches is None:
            return None
        changes = await self.changes(kind, upto, [pair for pair in touches if pair[1].by])
        return dict(changes.changed)

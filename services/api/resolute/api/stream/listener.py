"""One client that listens: what it subscribes to, what waits for it, and the messages that it is sent.

The fan-out hands changes to a listener without waiting for it. `serve` compares them with what the client knows and
sends the difference. A client that takes its messages too slowly is closed, with the reason; others never wait for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from resolute.api import wire
from resolute.api.scope import Scope
from resolute.api.stream.asking import Sync, Wish
from resolute.api.stream.differences import Changes, Subscription, deletion, news, sequenced
from resolute.api.stream.fanout import Fanout
from resolute.api.stream.kinds import Row
from resolute.api.stream.ranges import Id

T = TypeVar("T")

PAGE = 500
"""Objects that are read at once for one listener."""

REFUSED, AGAIN_LATER, BROKEN = 1008, 1013, 1011
"""Codes that a WebSocket is closed with (RFC 6455, 7.4): the client's message or its rights; too slow, or too much
happened; an error of the gateway."""


class Closed(Exception):
    """The listener is over: the code and the reason that its client is told."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Listener:
    def __init__(
        self,
        fanout: Fanout,
        user_id: int,
        scope_of: Callable[[str], Scope],
        send: Callable[[str], Awaitable[None]],
    ) -> None:
        """`scope_of`: where the caller holds a permission. `send` may wait as long as the client takes."""
        self.user_id = user_id
        self._fanout, self._scope_of, self._send = fanout, scope_of, send
        self._subscribed: dict[str, Subscription] = {}
        self._asked: deque[Sync] = deque()
        self._waiting: deque[Changes] = deque()
        self._weight = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self.rights_may_differ = asyncio.Event()
        self.over: asyncio.Future[Closed] = asyncio.get_running_loop().create_future()
        """Why the listener has to be closed."""

    # ------------------------------------------------------------ for the fan-out

    def known(self, kind: str) -> Iterable[Id] | None:
        subscription = self._subscribed.get(kind)
        if subscription is None:
            return None
        coming = (changes.changed for changes in self._waiting if changes.kind is subscription.kind)
        return subscription.known.union(*coming)

    def listens_to(self, kind: str) -> bool:
        return kind in self._subscribed

    def offer(self, changes: Changes) -> None:
        waited = bool(self._waiting)
        self._waiting.append(changes)
        self._weight += changes.size
        self._news.set()
        if waited and self._weight > self._fanout.limits.waiting:  # one event may change any number of objects
            self.close(
                Closed(AGAIN_LATER, f"too slow: {self._weight} changes wait; connect again, with known and since")
            )

    def check_rights(self) -> None:
        self.rights_may_differ.set()

    def fail(self) -> None:
        self.close(Closed(BROKEN, "the gateway met an error of its own; connect again, with known and since"))

    def close(self, why: Closed) -> None:
        """The first reason counts."""
        if not self.over.done():
            self.over.set_result(why)

    # ------------------------------------------------------------ for the client

    @property
    def has_asked(self) -> bool:
        return bool(self._subscribed or self._asked)

    async def ask(self, sync: Sync) -> None:
        """Note what the client wants. Waits while an earlier wish of it is still to be answered."""
        while self._asked:
            self._room.clear()
            await self._room.wait()
        self._asked.append(sync)
        self._news.set()

    async def serve(self) -> None:
        """Send what there is to say, until cancelled. Raises Closed."""
        while True:
            if self._asked:
                sync = self._asked.popleft()
                self._room.set()
                await self._answer(sync)
            elif self._waiting:
                changes = self._waiting.popleft()
                self._weight -= changes.size
                await self._tell(changes)
            else:
                self._news.clear()
                await self._news.wait()

    async def _tell(self, changes: Changes) -> None:
        subscription = self._subscribed[changes.kind.name]
        if changes.rechecked is not None:
            # What was learnt of while these changes were being read was not looked up with the others.
            for ids in _pages(sorted(subscription.known - changes.rechecked - changes.changed.keys(), key=str)):
                there = {row.id for row in await self._rows(subscription, ids) if subscription.matches(row)}
                if gone := set(ids) - there:
                    subscription.known -= gone
                    await self._send(deletion(changes.kind, gone))
        for message in news(subscription, changes):
            await self._send(message)

    # ------------------------------------------------------------ a sync

    async def _answer(self, sync: Sync) -> None:
        """From its beginning, changes are kept for what is subscribed to now, and for nothing else."""
        self._subscribed = {wish.kind.name: self._subscription(wish) for wish in sync.wishes}
        self._waiting.clear()
        self._weight = 0
        await self._send(_synced(sync.sync_id, complete=False))
        for subscription in self._subscribed.values():
            await self._catch_up(subscription)
        await self._send(_synced(sync.sync_id, complete=True))

    def _subscription(self, wish: Wish) -> Subscription:
        scope = self._scope_of(wish.kind.permission)
        return Subscription(wish.kind, scope, wish.wanted, wish.everything, set(wish.known), wish.since)

    async def _catch_up(self, subscription: Subscription) -> None:
        """Tell the client what it does not know: what is gone, then what changed since it was told, then the rest.

        In this order, a client whose connection breaks meanwhile loses nothing: its largest `seq` is the position of
        the rest only after it has got all changes.
        """
        kind, most = subscription.kind, self._fanout.limits.objects
        position = await self._fanout.reached(subscription.since)
        subscription.shown = position
        wanted = None if subscription.everything else subscription.wanted
        found = await self._fanout.queries.ids(kind, subscription.scope, wanted, most + 1)
        if len(found) > most:
            raise Closed(REFUSED, f"subscribe.{kind.name}: more than {most} objects match; name fewer")
        gone = subscription.known - set(found)
        known = subscription.known & set(found)
        subscription.known = set(found)
        await self._send(deletion(kind, gone))
        await self._send_changed(subscription, known, position)
        new = [id_ for id_ in found if id_ not in known]
        await self._send_rows(subscription, [(id_, position) for id_ in new])

    async def _send_changed(self, subscription: Subscription, known: set[Id], position: int) -> None:
        if not known or not 0 < subscription.since < position:
            return
        changed = await self._fanout.changed_between(subscription.kind, subscription.since, position)
        if changed is None:  # too long ago: everything may have changed
            changed = dict.fromkeys(known, position)
        again = ((id_, min(at, position)) for id_, at in changed.items() if id_ in known)
        await self._send_rows(subscription, list(sequenced(again)))

    async def _send_rows(self, subscription: Subscription, sequence: Sequence[tuple[Id, int]]) -> None:
        """Objects that are gone by now are left out: the deletion of what the client knows of them follows."""
        for page in _pages(sequence):
            rows = {row.id: row for row in await self._rows(subscription, [id_ for id_, _ in page])}
            for id_, seq in page:
                if subscription.matches(row := rows.get(id_)):
                    assert row is not None  # None matches nothing
                    await self._send(row.message(seq))

    async def _rows(self, subscription: Subscription, ids: Sequence[Id]) -> Sequence[Row]:
        return await self._fanout.queries.rows(subscription.kind, "id", ids)


def _pages(sequence: Sequence[T]) -> Iterator[Sequence[T]]:
    return (sequence[start : start + PAGE] for start in range(0, len(sequence), PAGE))


def _synced(sync_id: str, *, complete: bool) -> str:
    return wire.dumps({"sync_id": sync_id, "complete": complete}).decode()

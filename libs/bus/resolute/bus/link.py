"""One connection to NATS that reconnects by itself, and reopens everything that was open on it.

The link uses one client of nats-py for one connection. When that connection is lost, the link makes a new client, and
opens on it everything that was open on the old one. The reconnecting of nats-py itself is switched off, for two
reasons: the client closes for good on some errors of the server (an authorization that expired, a protocol error), and
it stops reconnecting, without an error, when its transport raises an unexpected exception. Under uvloop, writing to a
connection that was reset is a RuntimeError; a client that got one while it reconnected stayed disconnected until its
process was started again.

No error of nats-py leaves this module: callers get `Unavailable` while NATS cannot be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from resolute.bus import envelope
from resolute.bus.envelope import Headers
from resolute.proto.errors import InvalidConfig, TooLarge, Unavailable, Unserved

log_ = structlog.get_logger()

RECONNECT_WAIT_S = 0.1
CONNECT_S = 10.0
"""How long connecting may take, with the handshake and everything that is to be opened, before it is tried anew."""
LOOK_S = 1.0
"""How often the link checks its client: nats-py does not report every end of a connection."""
PING_S = 5
PINGS_UNANSWERED_MAX = 2
"""A server that answers no ping for 15 s counts as gone, even while the connection is open: this notices a network that
drops all packets, and a client that stopped reading."""
CLOSE_S = 5.0
"""How long closing a client may take: nats-py flushes to a server that may be gone."""
NO_RESPONDERS = "503"
LOST = "the connection to NATS was lost before an answer came"

Close = Callable[[], Awaitable[None]]
Open = Callable[[Client], Awaitable[Close]]
OnMessage = Callable[[Msg], Awaitable[None]]
T = TypeVar("T")

BROKEN = (nats.errors.Error, OSError, TimeoutError, RuntimeError)
"""What nats-py raises for a connection that does not work; RuntimeError is uvloop's, for a transport that is closed."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """An nkey: the server knows the public half, and the seed never leaves this process.

    `inbox_prefix`: the subjects that answers are sent to; a role that may not receive the answers to others has its
    own.
    """

    seed: str = field(repr=False)
    inbox_prefix: str = "_INBOX"


def trusting(authority: Path) -> ssl.SSLContext:
    """TLS with servers whose certificates this authority signed, and with no others.

    Raises InvalidConfig where the file holds no certificate, or cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:  # ssl.SSLError is one
        why = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        raise InvalidConfig(f"nats_ca_file: cannot use {authority}: {why}") from error


class LinkResource:
    """A subscription or service on the link. The link opens it again on each new client."""

    def __init__(self, link: Link, open_: Open) -> None:
        self._link, self._open = link, open_
        self._close: Close | None = None

    async def open_on(self, client: Client) -> None:
        self._close = await self._open(client)

    async def close(self) -> None:
        self._link.kept.discard(self)
        close, self._close = self._close, None
        if close is not None:
            try:
                await close()
            except BROKEN as error:
                log_.debug("bus: closing what is already gone", why=str(error))


class Link:
    """One connection to NATS. Owns the present client, the task that replaces it after a loss, and the list of what has
    to be opened on each new client. Methods raise Unavailable while there is no connection."""

    def __init__(self, url: str, credentials: Credentials | None, name: str, tls: ssl.SSLContext | None) -> None:
        self._url, self._credentials, self._name, self._tls = url, credentials, name, tls
        self._client = Client()
        self._watching: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[Any]] = set()
        """Old clients that are being closed, and round trips that no caller waits for any more."""
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._closed = False
        """Set once, by `close`. Cancelling what connects does not suffice: `asyncio.wait_for` of Python 3.11, which
        nats-py uses, forgets a cancellation that comes together with an error of the connection
        (https://github.com/python/cpython/issues/86296), and connecting would go on for ever."""
        self._lost = asyncio.Event()
        """Set when the connection of the present client is lost."""
        self._tokens = itertools.count(1)
        prefix = credentials.inbox_prefix if credentials else "_INBOX"
        self._inbox = f"{prefix}.{secrets.token_hex(8)}"
        self.kept: set[LinkResource] = set()
        self.outages = 0
        """How often the connection was lost. What was learned about the server before a loss may not hold after it."""
        self._complaints: dict[str, None] = {}
        """The errors since the link was last connected, each kind once. All are kept: a server that refuses the
        credentials also closes the connection, and either of the two errors may come last."""

    async def open(self, timeout_s: float) -> None:
        """Connect. Raises Unavailable, and closes the link, when NATS does not accept it within `timeout_s`."""
        self.kept.add(LinkResource(self, self._open_inbox))
        connecting = self._in_background(self._renew())
        try:
            await asyncio.wait((connecting,), timeout=timeout_s)
        finally:
            if not connecting.done():
                connecting.cancel()
                await self.close()
        if self._closed:
            why = f" ({'; '.join(self._complaints)})" if self._complaints else ""
            raise Unavailable(f"no NATS at {self._url} within {timeout_s:g} s{why}")
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    @property
    def client(self) -> Client:
        """The present client; raises Unavailable while it is not connected."""
        if not self._client.is_connected:
            raise Unavailable(f"the bus is away: no connection to NATS at {self._url}")
        return self._client

    @property
    def connected(self) -> bool:
        return bool(self._client.is_connected)

    async def keep(self, open_: Open) -> LinkResource:
        """Open a resource now, and again on each new client. When this returns, the server knows the resource. Raises
        Unavailable; then the resource is not opened again."""
        kept = LinkResource(self, open_)
        client = self.client
        await self.while_connected(kept.open_on(client))
        await self.while_connected(client.flush())
        if client is not self._client or not client.is_connected:  # the next client would not have the resource
            raise Unavailable(LOST)
        self.kept.add(kept)
        return kept

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of `work`, a call of nats-py. Raises Unavailable for its errors, and as soon as the
        connection is lost: nats-py itself would go on waiting for the answer of the server.

        When the caller is cancelled, `work` is not: it ends by itself within the few seconds of nats-py's own limits. A
        ping that is cancelled before its answer would end the reading task of nats-py, and no further message would be
        received.
        """
        return await self._until_lost(work, self._lost)

    async def subscribe(self, subject: str, on_message: OnMessage, queue: str = "") -> LinkResource:
        async def open_(client: Client) -> Close:
            subscription = await client.subscribe(subject, queue=queue, cb=on_message)
            return subscription.unsubscribe

        return await self.keep(open_)

    async def answer(self, message: Msg, body: bytes, headers: Headers | None) -> None:
        """Send the answer to `message` over the connection that brought it, or over the present connection when that
        one is lost. (The connection that brought it may be a new one that `_renew` has not finished opening.) Raises as
        `publish` does."""
        brought_by = message._client
        await self.publish(message.reply, body, headers, by=brought_by if brought_by.is_connected else None)

    async def publish(
        self, subject: str, body: bytes, headers: Headers | None = None, reply: str = "", by: Client | None = None
    ) -> None:
        """Send a message. Raises TooLarge for one that the server would not accept, and Unavailable."""
        client = by or self.client
        # nats-py checks the size of the body only. The server counts the headers too, and closes the connection.
        size_bytes = len(body) + envelope.size_bytes(headers)
        if size_bytes > client.max_payload:
            raise TooLarge(
                f"a message to {subject} has {size_bytes:,} bytes; NATS carries at most {client.max_payload:,} "
                "(its max_payload). If it holds a configuration, put large values into files of the context directory."
            )
        try:
            await client.publish(subject, body, reply=reply, headers=headers)
        except BROKEN as error:
            raise Unavailable(f"the bus is away: {error}") from error

    async def ask(self, subject: str, body: bytes, headers: Headers | None, timeout_s: float) -> Msg:
        """Send and wait for one answer. Raises Unavailable: at once when no process serves the subject
        (Unserved), or when the connection breaks."""
        token = str(next(self._tokens))
        waiting: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        try:
            async with asyncio.timeout(timeout_s):
                await self.publish(subject, body, headers, reply=f"{self._inbox}.{token}")
                answer = await waiting
        except TimeoutError:
            raise Unavailable(f"no answer from {subject} within {timeout_s:g} s") from None
        finally:
            del self._waiting[token]
        if not answer.data and answer.headers and answer.headers.get("Status") == NO_RESPONDERS:
            raise Unserved(f"no process serves {subject}")
        return answer

    async def close(self) -> None:
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
        self._retire(self._client)
        while self._background:
            await asyncio.wait(self._background, timeout=CLOSE_S)
            for task in list(self._background):
                task.cancel()
        self._give_up_waiting()

    # -- one client after another

    async def _watch(self) -> None:
        """Replaces each client whose connection is lost, for as long as the link is open."""
        while not self._closed:
            await self._loss()
            log_.warning("bus: connection to NATS lost", url=self._url)
            self._give_up_waiting()
            self._retire(self._client)
            await asyncio.sleep(RECONNECT_WAIT_S)
            await self._renew()
            log_.info("bus: connected to NATS again", url=self._url)

    async def _loss(self) -> None:
        """Waits until the present client is disconnected."""
        while self._client.is_connected:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._lost.wait(), LOOK_S)

    async def _renew(self) -> None:
        """Connect a new client, and open everything on it; try again until that succeeds, or the link is closed."""
        while not self._closed:
            client, lost = Client(), asyncio.Event()
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._connect(client, lost)
                    await self._until_lost(self._open_all(client), lost)
            except Exception as error:  # noqa: BLE001 (whatever a library raises in an outage, the link has to go on)
                self._retire(client)
                await self._on_error(error)
                await asyncio.sleep(RECONNECT_WAIT_S)
            except asyncio.CancelledError:
                self._retire(client)
                raise
            else:
                if self._closed:
                    self._retire(client)
                    return
                self._client, self._lost = client, lost
                self._complaints.clear()
                return

    async def _open_all(self, client: Client) -> None:
        for kept in list(self.kept):
            await kept.open_on(client)
        await client.flush()

    async def _until_lost(self, work: Coroutine[Any, Any, T], lost: asyncio.Event) -> T:
        task, losing = self._in_background(work), self._in_background(lost.wait())
        try:
            await asyncio.wait((task, losing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            losing.cancel()
        if not task.done():
            raise Unavailable(LOST)
        try:
            return task.result()
        except BROKEN as error:
            raise Unavailable(f"the bus is away: {error}") from error

    async def _connect(self, client: Client, lost: asyncio.Event) -> None:
        async def on_lost() -> None:
            lost.set()

        await client.connect(
            self._url,
            name=self._name,
            nkeys_seed_str=self._credentials.seed if self._credentials else None,
            inbox_prefix=self._inbox,
            tls=self._tls,
            # Before the server's first message: an attacker on the network could change it to say that there is no TLS.
            tls_handshake_first=self._tls is not None,
            allow_reconnect=False,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type] # it says int, and sleeps that long
            ping_interval=PING_S,
            max_outstanding_pings=PINGS_UNANSWERED_MAX,
            error_cb=self._on_error,
            disconnected_cb=on_lost,
        )

    def _retire(self, client: Client) -> None:
        """Close, in the background, a client that is not used any more."""

        async def close() -> None:
            try:
                async with asyncio.timeout(CLOSE_S):
                    await client.close()
            except Exception as error:  # noqa: BLE001 (the client is gone either way)
                log_.debug("bus: closing", why=repr(error))

        self._in_background(close())

    def _in_background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        def ended(task: asyncio.Task[T]) -> None:
            self._background.discard(task)
            if not task.cancelled():
                task.exception()  # so that asyncio does not warn that it was never retrieved

        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(ended)
        return task

    async def _open_inbox(self, client: Client) -> Close:
        subscription = await client.subscribe(f"{self._inbox}.*", cb=self._on_answer)
        return subscription.unsubscribe

    async def _on_answer(self, message: Msg) -> None:
        waiting = self._waiting.get(message.subject.rsplit(".", 1)[1])
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def _on_error(self, error: Exception) -> None:
        complaint = f"{type(error).__name__}: {error}"
        if complaint not in self._complaints:  # an outage repeats itself ten times a second
            self._complaints[complaint] = None
            log_.warning("bus: error of NATS", url=self._url, why=complaint)

    def _give_up_waiting(self) -> None:
        self.outages += 1
        self._lost.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Unavailable(LOST))

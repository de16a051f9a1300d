"""One connection to NATS that stays wanted: it comes back by itself, and so does everything opened on it.

nats-py reconnects and subscribes anew after an outage, but closes for good on some errors of the server (an
authorization that expired, a protocol error). The link then makes a new client and opens everything again. None
of nats-py's errors leaves this module: to a caller NATS is there, or it is `Unavailable`.
"""

from __future__ import annotations

import asyncio
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
from resolute.proto.errors import InvalidConfig, TooLarge, Unavailable

log_ = structlog.get_logger()

RECONNECT_WAIT_S = 0.1
NO_RESPONDERS = "503"
LOST = "the connection to NATS was lost before an answer came"

Close = Callable[[], Awaitable[None]]
Open = Callable[[Client], Awaitable[Close]]
OnMessage = Callable[[Msg], Awaitable[None]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Credentials:
    """An nkey: the server knows the public half, and the seed never leaves this process.

    `inbox_prefix`: where answers come to; a role that may not hear everybody's answers has one of its own.
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


class Kept:
    """Something opened on the link, and opened again on every client that takes over."""

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
            except nats.errors.Error as error:
                log_.debug("bus: closing what is already gone", why=str(error))


class Link:
    def __init__(self, url: str, credentials: Credentials | None, name: str, tls: ssl.SSLContext | None) -> None:
        self._url, self._credentials, self._name, self._tls = url, credentials, name, tls
        self._client = Client()
        self._closing = False
        self._restoring: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tokens = itertools.count(1)
        prefix = credentials.inbox_prefix if credentials else "_INBOX"
        self._inbox = f"{prefix}.{secrets.token_hex(8)}"
        self.kept: set[Kept] = set()
        self.outages = 0
        """How often the connection was lost: whoever remembers something about the server checks this."""
        self._complaints: dict[str, None] = {}
        """What went wrong since it was last connected, each kind once. All of them: a server that refuses us closes
        the connection too, and which of the two is heard last is chance."""

    async def open(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._connect(self._client)
        except TimeoutError:
            why = f" ({'; '.join(self._complaints)})" if self._complaints else ""
            await self.close()
            raise Unavailable(f"no NATS at {self._url} within {timeout_s:g} s{why}") from None
        except (nats.errors.Error, OSError) as error:
            await self.close()
            raise Unavailable(f"no NATS at {self._url}: {error}") from error
        await self.keep(self._open_inbox)

    @property
    def client(self) -> Client:
        """The client of now; raises Unavailable while there is none that is connected."""
        if not self._client.is_connected:
            raise Unavailable(f"the bus is away: no connection to NATS at {self._url}")
        return self._client

    @property
    def connected(self) -> bool:
        return bool(self._client.is_connected)

    async def keep(self, open_: Open) -> Kept:
        """Open something, and open it again whenever a new client takes over. The server knows of it on return."""
        kept = Kept(self, open_)
        client = self.client
        await self.while_connected(kept.open_on(client))
        await self.while_connected(client.flush())
        self.kept.add(kept)
        return kept

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Do `work` with nats-py. Raises Unavailable for its errors, and as soon as the connection is lost, for
        nats-py would wait for the answer of a server that is gone."""
        task = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.wait((task, self._lost), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Unavailable(LOST)
            return task.result()
        except (nats.errors.Error, OSError) as error:
            raise Unavailable(f"the bus is away: {error}") from error
        finally:
            task.cancel()

    async def subscribe(self, subject: str, on_message: OnMessage, queue: str = "") -> Kept:
        async def open_(client: Client) -> Close:
            subscription = await client.subscribe(subject, queue=queue, cb=on_message)
            return subscription.unsubscribe

        return await self.keep(open_)

    async def publish(self, subject: str, body: bytes, headers: Headers | None = None, reply: str = "") -> None:
        """Raises TooLarge for a message that the server would not take, and Unavailable."""
        client = self.client
        # nats-py looks at the body alone. The server counts the headers too, and closes the connection.
        size_bytes = len(body) + envelope.size_bytes(headers)
        if size_bytes > client.max_payload:
            raise TooLarge(
                f"a message to {subject} has {size_bytes:,} bytes; NATS carries at most {client.max_payload:,} "
                "(its max_payload). If it holds a configuration, put large values into files of the context directory."
            )
        try:
            await client.publish(subject, body, reply=reply, headers=headers)
        except (nats.errors.Error, OSError) as error:
            raise Unavailable(f"the bus is away: {error}") from error

    async def ask(self, subject: str, body: bytes, headers: Headers | None, timeout_s: float) -> Msg:
        """Send and wait for one answer. Raises Unavailable: at once when nobody listens or the connection breaks."""
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
            raise Unavailable(f"nobody serves {subject}")
        return answer

    async def close(self) -> None:
        self._closing = True
        if self._restoring is not None:
            self._restoring.cancel()
        try:
            await self._client.close()
        except (nats.errors.Error, OSError) as error:
            log_.debug("bus: closing", why=str(error))
        self._give_up_waiting()

    async def _connect(self, client: Client) -> None:
        await client.connect(
            self._url,
            name=self._name,
            nkeys_seed_str=self._credentials.seed if self._credentials else None,
            inbox_prefix=self._inbox,
            tls=self._tls,
            # Before the server's first word, for in it somebody on the way could say that it has no TLS.
            tls_handshake_first=self._tls is not None,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type] # it says int, and sleeps that long
            ping_interval=20,
            max_outstanding_pings=2,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=self._on_reconnected,
            closed_cb=self._on_closed,
        )

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
            log_.warning("bus: NATS complains", url=self._url, why=complaint)

    async def _on_disconnected(self) -> None:
        self._give_up_waiting()
        if not self._closing:
            log_.warning("bus: connection to NATS lost", url=self._url)

    async def _on_reconnected(self) -> None:
        self._complaints.clear()
        log_.info("bus: connected to NATS again", url=self._url)

    async def _on_closed(self) -> None:
        if not self._closing:
            self._give_up_waiting()
            self._restoring = asyncio.get_running_loop().create_task(self._restore())

    def _give_up_waiting(self) -> None:
        self.outages += 1
        lost, self._lost = self._lost, asyncio.get_running_loop().create_future()
        lost.set_result(None)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Unavailable(LOST))

    async def _restore(self) -> None:
        """A new client for the one that gave up, with everything that was open on it."""
        while not self._closing:
            await asyncio.sleep(RECONNECT_WAIT_S)
            client = Client()
            try:
                await self._connect(client)
                for kept in list(self.kept):
                    await kept.open_on(client)
                await client.flush()
            except (nats.errors.Error, OSError) as error:
                await self._on_error(error)
                await client.close()
                continue
            self._client = client
            return await self._on_reconnected()

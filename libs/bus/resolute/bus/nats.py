"""The bus over NATS: commands as micro services in queue groups, facts in JetStream, agents on plain subjects.

The bus receives facts by one plain subscription, not by a JetStream consumer: the subscription gets a fact as soon as
it is published (a consumer gets it when it is stored), has no state on the server that could be lost, and is restored
after an outage. Followers count positions and read missing facts from the log (docs/decisions/0004). JetStream stores
the facts for `last_fact`, to recognise repeats by their id, and for other programs that read them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import orjson
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from resolute import codec
from resolute.bus import envelope, facts, subjects
from resolute.bus.bus import CommandHandler
from resolute.bus.link import Close, Credentials, Link, LinkResource, trusting
from resolute.bus.micro import serve_on
from resolute.proto.errors import Failed, Forbidden, ResoluteError, TooLarge, Unavailable
from resolute.proto.message import COMMANDS, Cause, Command, Recorded, Reply

log_ = structlog.get_logger()

T = TypeVar("T")

ACK_TIMEOUT_S = 2.0
"""How long JetStream may take to store a fact."""
FINISH_S = 2.0
"""How long `close` lets handlers finish."""


class NatsBus:
    """The `Bus` of clusters, made by `await NatsBus.open(url)`. Goes on after NATS was stopped, wiped or replaced."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._readers: list[Callable[[Recorded], None]] = []
        self._hearing: LinkResource | None = None
        self._hearing_lock = asyncio.Lock()
        self._stream_seen_at: int | None = None
        self._stream_lock = asyncio.Lock()
        self._handling: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        credentials: Credentials | None = None,
        authority: Path | None = None,
        name: str = "resolute",
        timeout_s: float = 30.0,
    ) -> NatsBus:
        """Connect; waits for NATS for up to `timeout_s`, then raises Unavailable.

        `authority`: the certificate of the authority that signed the server's; with one, the connection uses TLS from
        its first byte, and the server must have `handshake_first`. `name` is shown in NATS's monitoring. Raises
        InvalidConfig for an `authority` that is no certificate.
        """
        link = Link(url, credentials, name, trusting(authority) if authority else None)
        await link.open(timeout_s)
        return cls(link)

    @property
    def connected(self) -> bool:
        return self._link.connected

    # -- commands

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        answer = await self._link.ask(
            subjects.command(command), codec.to_bytes(command), envelope.of_command(command, cause), timeout_s
        )
        return _read_answer(answer, Reply)

    async def serve(self, service: str, handle: CommandHandler) -> LinkResource:
        async def answer(message: Msg) -> Reply:
            headers = message.headers or {}
            command = codec.command_from(headers[envelope.TYPE], message.data)
            return await handle(command, envelope.cause(headers))

        def start(message: Msg) -> asyncio.Task[None]:
            return self._start(self._answer(message, answer(message)))

        kinds = [kind for kind in COMMANDS.values() if kind.service == service]

        async def open_(client: Client) -> Close:
            return await serve_on(client, service, version("resolute"), kinds, start)

        return await self._link.keep(open_)

    # -- facts

    async def publish_fact(self, recorded: Recorded) -> bool:
        await self._ensure_stream()
        body = codec.to_bytes(recorded.event)
        try:
            answer = await self._link.ask(subjects.fact(recorded), body, envelope.of_fact(recorded), ACK_TIMEOUT_S)
        except Unavailable:
            self._stream_seen_at = None  # the stream may have been removed: the next publish makes it again
            raise
        stored = orjson.loads(answer.data)
        if error := stored.get("error"):
            self._stream_seen_at = None
            raise Unavailable(f"JetStream did not take {recorded.id}: {error.get('description')}")
        return not stored.get("duplicate", False)

    async def last_fact(self) -> int:
        await self._ensure_stream()
        return await self._link.while_connected(facts.last_position(self._link.client))

    async def facts(self, deliver: Callable[[Recorded], None]) -> _Reader:
        async with self._hearing_lock:
            if self._hearing is None:
                self._hearing = await self._link.subscribe(facts.SUBJECTS, self._hear)
        self._readers.append(deliver)
        return _Reader(self._readers, deliver)

    async def _hear(self, message: Msg) -> None:
        """Decodes a fact once, for all readers of this process."""
        if not self._readers:
            return
        try:
            recorded = envelope.fact(message.headers or {}, message.data)
        except (ResoluteError, KeyError, ValueError) as error:
            log_.warning("bus: not a fact", subject=message.subject, why=repr(error))
            return
        for deliver in list(self._readers):
            deliver(recorded)

    async def _ensure_stream(self) -> None:
        """Makes sure, once per connection, that the stream of facts exists: a server that was restarted may lack it."""
        if self._stream_seen_at == self._link.outages:
            return
        async with self._stream_lock:
            if self._stream_seen_at != (outages := self._link.outages):
                await self._link.while_connected(facts.ensure(self._link.client))
                self._stream_seen_at = outages

    # -- conversations

    async def publish(self, subject: str, message: Any) -> None:
        await self._link.publish(subject, codec.to_bytes(message))

    async def ask(self, subject: str, message: Any, answer: type[T], timeout_s: float = 5.0) -> T:
        return _read_answer(await self._link.ask(subject, codec.to_bytes(message), None, timeout_s), answer)

    async def listen(
        self, subject: str, kind: type[T], handle: Callable[[T], Awaitable[Any]], *, queue: str = ""
    ) -> LinkResource:
        async def answer(message: Msg) -> Any:
            value = codec.from_bytes(kind, message.data)
            subjects.check_speaker(message.subject, value)
            return await handle(value)

        async def on_message(message: Msg) -> None:
            try:
                subjects.check_reply(message.subject, message.reply)
            except Forbidden as error:
                log_.warning("bus: a message was not taken", subject=message.subject, why=error.message)
            else:
                self._start(self._answer(message, answer(message)))

        return await self._link.subscribe(subject, on_message, queue)

    async def close(self) -> None:
        if self._handling:
            await asyncio.wait(self._handling, timeout=FINISH_S)
        for task in list(self._handling):
            task.cancel()
        await self._link.close()

    # -- answering

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)
        return task

    async def _answer(self, message: Msg, work: Awaitable[Any]) -> None:
        headers: envelope.Headers | None = None
        try:
            body = codec.to_bytes(await work)
        except ResoluteError as error:
            headers, body = envelope.of_error(error), error.message.encode()
        except Exception as error:
            log_.exception("bus: a handler failed", subject=message.subject)
            failure = Failed(f"{message.subject}: {type(error).__name__}: {error}")
            headers, body = envelope.of_error(failure), failure.message.encode()
        if not message.reply:
            if headers:
                log_.warning("bus: a message was not taken", subject=message.subject, why=body.decode())
            return
        try:
            await self._reply(message, body, headers)
        except ResoluteError as error:
            log_.info("bus: an answer could not be sent", subject=message.subject, why=error.message)

    async def _reply(self, message: Msg, body: bytes, headers: envelope.Headers | None) -> None:
        try:
            await self._link.answer(message, body, headers)
        except TooLarge as error:  # without an answer the caller would wait until its limit, and ask again
            refusal = TooLarge(f"the answer of {message.subject} is too large: {error.message}")
            await self._link.answer(message, refusal.message.encode(), envelope.of_error(refusal))


class _Reader:
    def __init__(self, readers: list[Callable[[Recorded], None]], deliver: Callable[[Recorded], None]) -> None:
        self._readers, self._deliver = readers, deliver

    async def close(self) -> None:
        if self._deliver in self._readers:
            self._readers.remove(self._deliver)


def _read_answer(message: Msg, kind: type[T]) -> T:
    error = envelope.error(message.headers, message.data)
    if error is not None:
        raise error
    return codec.from_bytes(kind, message.data)

"""Accepts connections, and looks at every one of them about once a second.

Sockets are accepted here rather than by aiohttp, because what counts begins before HTTP does: a connection has its
place in `Admission` from the moment it is accepted, with its TLS handshake still to come.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import structlog
from aiohttp.web_server import Server
from prometheus_client import Counter, Gauge

from resolute.api import wire
from resolute.api.client_address import Network, counted_as, is_in, parsed
from resolute.api.edge.admission import Admission, Entry, Kind
from resolute.api.edge.limits import FILES_OF_OTHERS, ConnectionLimits, files_allowed, rooms
from resolute.api.edge.protocol import EdgeProtocol, Wait, refusal

log_ = structlog.get_logger()

_OPEN = Gauge("resolute_api_connections", "Connections that are open, by whose they are", ["kind"])
_ENDED = Counter(
    "resolute_api_connections_ended", "Connections that the gateway refused or ended, by the reason", ["reason"]
)

BACKLOG = 1024
ACCEPTED_AT_ONCE = 64
"""Connections that are accepted in one go, before requests get their turn."""

LOOKED_AT_ONCE = 1_000
"""Connections that are looked at in one go, which takes a few milliseconds."""

OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
PAUSE_S = 0.5
"""Without accepting, when the system has no file left for a connection."""

TELL_EVERY_S = 60.0
FULL = refusal(wire.UNAVAILABLE, "too many connections are open at the gateway: try again in a moment")


class Listener:
    """The gateway's open connections. `listen` as often as there are addresses, then `run` until cancelled."""

    def __init__(
        self,
        server: Server,
        limits: ConnectionLimits,
        *,
        secure: ssl.SSLContext | None = None,
        shared: Sequence[Network] = (),
        strict_transport_s: int = 0,
        **options: Any,
    ) -> None:
        """`shared`: networks of proxies, whose address many clients share. `options` are aiohttp's, of a connection."""
        self._server, self._secure, self._shared, self._options = server, secure, shared, options
        self.limits, self.strict_transport_s = limits, strict_transport_s
        files = files_allowed()
        self.admission = Admission(limits, rooms(limits, files))
        if files < limits.max + FILES_OF_OTHERS:
            log_.warning(
                "fewer connections than api.connections.max: the system allows too few open files (ulimit -n)",
                wanted=limits.max,
                open_files=files,
            )
        self._sockets: list[socket.socket] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._links: dict[Connection, None] = {}
        self._loop = asyncio.get_running_loop()
        self._untold: Tally[str] = Tally()
        self._tell_at = 0.0

    # ---------------------------------------------------------------- listening

    def listen(self, host: str, port: int, *, reuse_port: bool = False) -> None:
        """Accept connections at every address that `host` has. Raises OSError."""
        kind = socket.SOCK_STREAM
        found = socket.getaddrinfo(host, port, type=kind, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
            listening = socket.create_server(
                (str(address[0]), int(address[1])), family=family, backlog=BACKLOG, reuse_port=reuse_port
            )
            listening.setblocking(False)
            self._sockets.append(listening)
            self._loop.add_reader(listening, self._accept, listening)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [listening.getsockname()[:2] for listening in self._sockets]

    async def run(self) -> None:
        """Look at every connection, again and again."""
        while True:
            await asyncio.sleep(self.limits.look_every_s)
            for number, connection in enumerate(list(self._links), 1):
                connection.look(self._loop.time())
                if number % LOOKED_AT_ONCE == 0:
                    await asyncio.sleep(0)
            self._show()

    def _show(self) -> None:
        _OPEN.labels(Kind.STRANGER).set(len(self.admission.strangers))
        _OPEN.labels(Kind.USER).set(self.admission.users)
        _OPEN.labels(Kind.TASK).set(self.admission.tasks)
        self._tell(self._loop.time())

    def close(self) -> None:
        """Accept no more. Connections that are open stay: aiohttp's runner ends them."""
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets.clear()
        for task in self._opening:
            task.cancel()

    # ---------------------------------------------------------------- accepting

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, peer = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                if error.errno not in OUT_OF_FILES:
                    raise
                self._pause(listening)
                return
            self._enter(accepted, str(peer[0]))

    def _pause(self, listening: socket.socket) -> None:
        self.note("no file left")
        self._loop.remove_reader(listening)
        self._loop.call_later(PAUSE_S, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    def _enter(self, accepted: socket.socket, peer: str) -> None:
        accepted.setblocking(False)
        connection = Connection(self)
        address = parsed(peer)
        limited = address is None or not is_in(address, self._shared)
        entry = self.admission.enter(connection, counted_as(peer), self._loop.time(), limited=limited)
        if entry is None:
            self._refuse(accepted)
            return
        connection.entry = entry
        self._links[connection] = None
        task = connection.opening = self._loop.create_task(self._open(accepted, connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _refuse(self, accepted: socket.socket) -> None:
        self.note("no room")
        with accepted, suppress(OSError):
            if self._secure is None:
                accepted.send(FULL)

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        """From an accepted socket to HTTP, by way of TLS where the gateway speaks it."""

        def protocol() -> EdgeProtocol:
            connection.protocol = EdgeProtocol(self._server, connection, loop=self._loop, **self._options)
            return connection.protocol

        timeout_s = self.limits.handshake_timeout_s if self._secure is not None else None
        try:
            await self._loop.connect_accepted_socket(
                protocol, accepted, ssl=self._secure, ssl_handshake_timeout=timeout_s, ssl_shutdown_timeout=timeout_s
            )
        except (OSError, ssl.SSLError, asyncio.CancelledError) as error:
            # No client is worth a traceback: it left, it does not speak TLS, it was too slow, or its room was needed.
            if not isinstance(error, asyncio.CancelledError):
                self.note("no handshake")
            accepted.close()
            connection.lost()
        else:
            connection.opening = None

    # ---------------------------------------------------------------- leaving

    def lost(self, connection: Connection) -> None:
        self._links.pop(connection, None)
        if connection.entry is not None:
            self.admission.leave(connection.entry)

    def note(self, reason: str) -> None:
        _ENDED.labels(reason).inc()
        self._untold[reason] += 1

    def _tell(self, now: float) -> None:
        """One line a minute, however many connections it is about."""
        if self._untold and now >= self._tell_at:
            log_.warning("connections were refused or ended", **{k.replace(" ", "_"): n for k, n in self._tallied()})
            self._untold.clear()
            self._tell_at = now + TELL_EVERY_S

    def _tallied(self) -> Iterator[tuple[str, int]]:
        yield from sorted(self._untold.items())


class Connection:
    """One accepted connection, as `Admission` and as its protocol see it."""

    __slots__ = ("_listener", "entry", "opening", "protocol")

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.entry: Entry | None = None
        self.opening: asyncio.Task[None] | None = None
        self.protocol: EdgeProtocol | None = None

    @property
    def limits(self) -> ConnectionLimits:
        return self._listener.limits

    @property
    def strict_transport_s(self) -> int:
        return self._listener.strict_transport_s

    def known(self) -> bool:
        return self.entry is not None and self.entry.kind is not Kind.STRANGER

    def recognise(self, kind: Kind, caller: str) -> str | None:
        """Count the connection for `caller` from now on; else the limit that stands against it."""
        return self._listener.admission.recognise(self.entry, kind, caller) if self.entry is not None else None

    def look(self, now: float) -> None:
        if self.protocol is not None and self.opening is None:
            self.protocol.look(now)

    def lost(self) -> None:
        self._listener.lost(self)

    def timed_out(self, reason: str) -> None:
        self._listener.note(reason)

    def awaits_client(self) -> bool:
        if self.protocol is None or self.opening is not None:
            return True
        return self.protocol.waits_for() is not Wait.HANDLER

    def drop(self, reason: str) -> None:
        self._listener.note(reason)
        if self.opening is not None:
            self.opening.cancel()
        elif self.protocol is not None:
            self.protocol.abort()

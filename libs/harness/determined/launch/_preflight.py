"""Tests, before any worker starts, which containers of a gang reach one another, and at which of their addresses.

Each container listens on a port of its own and calls every address of every other container. The process that answers
proves which container it is, because a private address may belong to another machine in another network. The results
are exchanged through the gateway, and all launchers compute from them the same choice, or the same error.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from determined._handshake import HANDSHAKE_S, HandshakeFailed, introduce, welcome
from determined.launch._interfaces import Candidate

PATIENCE_S = 10.0
"""How long to try a container that does not answer at any address: a packet may be lost, a host may be busy."""
AFTERTHOUGHT_S = 1.0
"""How long to wait for further addresses once each container is reached at one. A firewall may drop packets
silently."""
PROBE, JOIN = b"?", b"!"


class Peer(NamedTuple):
    """A container of the gang. `candidates`: its addresses, in its own order of preference."""

    rank: int
    name: str
    slots: int
    port: int
    candidates: tuple[Candidate, ...]


Reached = Mapping[int, Mapping[int, Sequence[str]]]
"""By container, then by the container that it called: the addresses at which that one answered."""


class CannotTalk(Exception):
    """Some containers cannot reach one another. The message says which, and at which addresses that was tried."""


def choose(peers: Sequence[Peer], reached: Reached) -> list[Candidate]:
    """For each container the first of its addresses that every other one reaches. Raises CannotTalk."""
    complaints: list[str] = []
    chosen: list[Candidate] = []
    for peer in peers:
        others = [other for other in peers if other.rank != peer.rank]
        common = [
            one
            for one in peer.candidates
            if all(one.address in reached[other.rank].get(peer.rank, ()) for other in others)
        ]
        chosen += common[:1]
        if not common:
            complaints += _complaints(peer, others, reached)
    if complaints:
        raise CannotTalk("; ".join(complaints))
    return chosen


def _complaints(peer: Peer, others: Sequence[Peer], reached: Reached) -> list[str]:
    tried = ", ".join(f"{one.address} ({one.interface})" for one in peer.candidates) or "no address at all"
    cut_off = [other.name for other in others if not reached[other.rank].get(peer.rank)]
    if cut_off:
        return [f"{name} cannot reach {peer.name} on port {peer.port} at {tried}" for name in cut_off]
    return [f"{peer.name} has no address that all others reach: its port {peer.port} was tried at {tried}"]


class Listener:
    """Answers the calls of peers on a port of its own, until `close`. The connection of a peer that joins goes into
    `joined`, with its rank; a probe only gets the proof of the handshake."""

    def __init__(self, rank: int, size: int, secret: bytes) -> None:
        self._rank, self._size, self._secret = rank, size, secret
        # On every address, because it is not known yet which one the others can reach. Other callers get only a nonce.
        self._socket = socket.create_server(("", 0), backlog=128)
        self.port: int = self._socket.getsockname()[1]
        self.joined: queue.Queue[tuple[int, socket.socket]] = queue.Queue()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                link, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        try:
            caller = welcome(link, self._secret, _purpose(self._rank), range(self._size))
            link.settimeout(HANDSHAKE_S)
            if link.recv(1) == JOIN:
                link.settimeout(None)
                self.joined.put((caller, link))
                return
        except (OSError, HandshakeFailed):
            pass  # not a member of the gang, or it closed the connection
        link.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def call(peer: Peer, address: str, me: int, secret: bytes, purpose: bytes) -> socket.socket:
    """A connection to `peer` for PROBE or JOIN. Raises OSError when no process answers, and HandshakeFailed when
    another process than that container's launcher does."""
    link = socket.create_connection((address, peer.port), timeout=HANDSHAKE_S)
    try:
        introduce(link, secret, _purpose(peer.rank), me)
        link.sendall(purpose)
    except (OSError, HandshakeFailed):
        link.close()
        raise
    return link


def _purpose(listener: int) -> bytes:
    return b"gang %d " % listener


class Probe:
    """Calls every address of every other container at once, again and again until one answers or PATIENCE_S is over."""

    def __init__(self, me: int, peers: Sequence[Peer], secret: bytes) -> None:
        self._me, self._secret = me, secret
        self._others = [peer for peer in peers if peer.rank != me]
        self._found: dict[int, list[str]] = {peer.rank: [] for peer in self._others}
        self._open = sum(len(peer.candidates) for peer in self._others)
        self._news = threading.Condition()
        self._over_at = time.monotonic() + PATIENCE_S

    def run(self) -> dict[int, list[str]]:
        """The addresses at which each other container was reached."""
        for peer in self._others:
            for one in peer.candidates:
                threading.Thread(target=self._try, args=(peer, one.address), daemon=True).start()
        with self._news:
            self._news.wait_for(lambda: not self._open or all(self._found.values()), PATIENCE_S)
            self._news.wait_for(lambda: not self._open, AFTERTHOUGHT_S)
            return {rank: list(addresses) for rank, addresses in self._found.items()}

    def _try(self, peer: Peer, address: str) -> None:
        while not (answered := self._answers(peer, address)) and self._worth_trying(peer):
            time.sleep(0.1)
        with self._news:
            self._open -= 1
            if answered:
                self._found[peer.rank].append(address)
            self._news.notify_all()

    def _worth_trying(self, peer: Peer) -> bool:
        with self._news:
            return time.monotonic() < self._over_at and not self._found[peer.rank]

    def _answers(self, peer: Peer, address: str) -> bool:
        try:
            call(peer, address, self._me, self._secret, PROBE).close()
        except (OSError, HandshakeFailed):
            return False
        return True

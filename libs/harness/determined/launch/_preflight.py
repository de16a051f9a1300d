"""Before anything else starts: which containers of a gang reach one another, and at which of their addresses.

Each container listens on a port of its own and calls every address of every other. Whoever answers proves which
container it is: the same private address may well stand for another machine elsewhere. What was reached is exchanged
through the gateway, and from that table all launchers read the same choice, or the same complaint.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from determined._handshake import HANDSHAKE_S, Stranger, introduce, welcome
from determined.launch._interfaces import Candidate

PATIENCE_S = 10.0
"""How long to try a container that answers nowhere: a packet may be lost, a host may be busy."""
AFTERTHOUGHT_S = 1.0
"""How long to wait for further addresses once one is known for each: for those that drop what they are sent."""
PROBE, JOIN = b"?", b"!"


class Peer(NamedTuple):
    """A container of the gang as it introduced itself. `candidates` are in its own order of preference."""

    rank: int
    name: str
    slots: int
    port: int
    candidates: tuple[Candidate, ...]


Reached = Mapping[int, Mapping[int, Sequence[str]]]
"""Which container reached which other one, and at which addresses."""


class CannotTalk(Exception):
    """Some of the containers cannot reach one another; the message says which, and where it was tried."""


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
    deaf = [other.name for other in others if not reached[other.rank].get(peer.rank)]
    if deaf:
        return [f"{name} cannot reach {peer.name} on port {peer.port} at {tried}" for name in deaf]
    return [f"{peer.name} has no address that all others reach: its port {peer.port} was tried at {tried}"]


class Listener:
    """Answers peers: a probe with proof of who this is; whoever joins is kept in `joined`, by rank."""

    def __init__(self, rank: int, size: int, secret: bytes) -> None:
        self._rank, self._size, self._secret = rank, size, secret
        # On every address, because it is not known yet which one the others can reach. A stranger gets only a nonce.
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
        except (OSError, Stranger):
            pass  # not one of us, or one that changed its mind: it is not let in
        link.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def call(peer: Peer, address: str, me: int, secret: bytes, wish: bytes) -> socket.socket:
    """Raises OSError where no process answers, Stranger where another one than that container does."""
    link = socket.create_connection((address, peer.port), timeout=HANDSHAKE_S)
    try:
        introduce(link, secret, _purpose(peer.rank), me)
        link.sendall(wish)
    except (OSError, Stranger):
        link.close()
        raise
    return link


def _purpose(listener: int) -> bytes:
    return b"gang %d " % listener


class Probe:
    """Tries every address of every other container at once, each until it answers or patience is at its end."""

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
        except (OSError, Stranger):
            return False
        return True

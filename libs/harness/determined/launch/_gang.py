"""The gang of a trial: the launchers of all its containers. The chief's launcher decides for all.

The launchers exchange their addresses through the gateway, test which of them they can reach, and then keep connections
to the chief.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from determined._handshake import HandshakeFailed, secret_of
from determined._info import ClusterInfo
from determined.common.api import Session
from determined.common.api._session import segment
from determined.launch import _interfaces, _layout, _preflight
from determined.launch._gang_link import Link, LinkClosed
from determined.launch._preflight import CannotTalk, Peer

THREADS = "OMP_NUM_THREADS"
JOIN_S = 60.0
AGREE_S = 300.0
"""How long to wait for the other launchers, which import their frameworks meanwhile."""


class Refused(Exception):
    """The gang cannot run, and another try would fail too. The message says why, and what would help."""


class GangFailed(Exception):
    """The gang cannot run this time. Another try may succeed."""


class Place(NamedTuple):
    """One container of the gang."""

    name: str
    slots: int
    interface: str
    address: str

    def __str__(self) -> str:
        return f"{self.name} ({self.address})"


class Gang:
    """The gang as one launcher sees it. `me`: the number of its container; 0 is the chief. `links` by container: on the
    chief to every other launcher, elsewhere to the chief."""

    def __init__(self, me: int, places: Sequence[Place], links: dict[int, Link], info: ClusterInfo) -> None:
        self.me, self.places, self.links, self.info = me, tuple(places), links, info
        self._held: list[socket.socket] = []

    @property
    def is_chief(self) -> bool:
        return self.me == 0

    @property
    def here(self) -> Place:
        return self.places[self.me]

    @property
    def chief_address(self) -> str:
        return self.places[0].address

    @property
    def spans_hosts(self) -> bool:
        return len(self.places) > 1

    @property
    def ranks_here(self) -> list[_layout.Rank]:
        return _layout.of_container([place.slots for place in self.places], self.me)

    def hold_port(self) -> int:
        """Reserves a free port of this container's address for the workers: a socket that is bound but never listens.
        The kernel gives the port to no other process, and a server with SO_REUSEADDR can still listen there."""
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((self.here.address, 0))
        self._held.append(held)
        port: int = held.getsockname()[1]
        return port

    def agree(self, mine: dict[str, Any], refusal: str | None = None) -> dict[str, Any]:
        """Waits for all launchers; returns the facts `mine` of the chief. Raises Refused on all launchers when one of
        them gives a `refusal`, and GangFailed."""
        deadline = time.monotonic() + AGREE_S
        try:
            if not self.is_chief:
                self.links[0].send({"kind": "ready", "refusal": refusal})
                answer = self.links[0].wait_for("go", deadline)
                return self._go(answer["facts"], answer["refusal"])
            answers = [link.wait_for("ready", deadline) for link in self.links.values()]
            refusal = next(filter(None, [refusal, *(answer["refusal"] for answer in answers)]), None)
            for link in self.links.values():
                link.send({"kind": "go", "facts": mine, "refusal": refusal})
        except LinkClosed as problem:
            raise GangFailed(
                f"a launcher of this gang went away before the workers were started: {problem}"
            ) from problem
        return self._go(mine, refusal)

    def _go(self, facts: dict[str, Any], refusal: str | None) -> dict[str, Any]:
        if refusal is not None:
            raise Refused(refusal)
        return facts

    def close(self) -> None:
        for link in self.links.values():
            link.close()
        for held in self._held:
            held.close()


def meet(info: ClusterInfo) -> Gang:
    """Returns when every launcher runs, and they reach each other. Raises Refused and GangFailed."""
    slots = info.container_slot_counts
    if len(slots) == 1:
        # A trial without slots has one worker.
        return Gang(0, [Place(info.agent_id, max(1, slots[0]), "lo", "127.0.0.1")], {}, info)
    me, secret = info.container_rank, secret_of(info.session_token)
    listener = _preflight.Listener(me, len(slots), secret)
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        peers = [_peer(one) for one in _gather(session, info, _introduction(info, listener.port))]
        reached = _preflight.Probe(me, peers, secret).run()
        reports = _gather(session, info, {"rank": me, "reached": {str(rank): found for rank, found in reached.items()}})
        places = _places(peers, reports)
        links = _joined(listener, len(slots)) if me == 0 else {0: _join(peers[0], places[0].address, me, secret)}
    finally:
        session.close()
        listener.close()
    return Gang(me, places, links, info)


def _introduction(info: ClusterInfo, port: int) -> dict[str, Any]:
    reported = info.container_addrs[info.container_rank]
    configured = info.trial._inter_node_network_interface
    introduction = {
        "rank": info.container_rank,
        "name": info.agent_id,
        "slots": info.container_slot_counts[info.container_rank],
        "port": port,
        "candidates": [],
        "refusal": None,
    }
    try:
        introduction["candidates"] = _interfaces.in_order(_interfaces.here(), reported, configured)
    except _interfaces.NoSuchInterface as problem:
        introduction["refusal"] = f"environment.dtrain_network_interface: on {info.agent_id} {problem}"
    return introduction


def _gather(session: Session, info: ClusterInfo, mine: dict[str, Any]) -> list[dict[str, Any]]:
    """Exchanges `mine` through the gateway; returns the data of every launcher, by rank. Raises Refused when one of
    them cannot go on."""
    body = {"requestUuid": secrets.token_hex(16), "numPeers": len(info.container_slot_counts), "data": mine}
    answer = session.post(f"/api/v1/allocations/{segment(info.allocation_id)}/all_gather", body)
    brought: list[dict[str, Any]] = sorted(answer["data"], key=lambda one: int(one["rank"]))
    if refusals := [one["refusal"] for one in brought if one.get("refusal")]:
        raise Refused("; ".join(refusals))
    return brought


def _peer(report: dict[str, Any]) -> Peer:
    candidates = tuple(_interfaces.Candidate(*one) for one in report["candidates"])
    return Peer(int(report["rank"]), str(report["name"]), int(report["slots"]), int(report["port"]), candidates)


def _places(peers: Sequence[Peer], reports: Sequence[dict[str, Any]]) -> list[Place]:
    reached = {int(one["rank"]): {int(rank): found for rank, found in one["reached"].items()} for one in reports}
    try:
        chosen = _preflight.choose(peers, reached)
    except CannotTalk as problem:
        raise Refused(
            f"the containers of this gang cannot all talk to one another: {problem}. Let the hosts reach each other on "
            "any port above 1023, or name the interface that they share in environment.dtrain_network_interface"
        ) from problem
    return [Place(peer.name, peer.slots, *candidate) for peer, candidate in zip(peers, chosen, strict=True)]


def _joined(listener: _preflight.Listener, size: int) -> dict[int, Link]:
    links: dict[int, Link] = {}
    deadline = time.monotonic() + JOIN_S
    while len(links) < size - 1:
        with contextlib.suppress(queue.Empty):
            rank, connection = listener.joined.get(timeout=max(0.01, deadline - time.monotonic()))
            links[rank] = Link(connection)
        if time.monotonic() > deadline:
            missing = sorted(set(range(1, size)) - set(links))
            raise GangFailed(f"the launchers of containers {missing} did not join within {JOIN_S:.0f} s")
    return dict(sorted(links.items()))


def _join(chief: Peer, address: str, me: int, secret: bytes) -> Link:
    deadline = time.monotonic() + JOIN_S
    while True:
        try:
            return Link(_preflight.call(chief, address, me, secret, _preflight.JOIN))
        except (OSError, HandshakeFailed) as problem:
            if time.monotonic() > deadline:
                raise GangFailed(
                    f"the chief's launcher did not answer at {address}:{chief.port}: {problem}"
                ) from problem
        time.sleep(0.05)


def variables(gang: Gang, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for the workers of every framework: the network interface, and the number of threads. Variables that
    the user has set are not changed."""
    around = os.environ if environ is None else environ
    settings = {"GLOO_SOCKET_IFNAME": gang.here.interface}
    if gang.spans_hosts:
        settings["NCCL_SOCKET_IFNAME"] = gang.here.interface
    found = {name: value for name, value in settings.items() if name not in around}
    return {**found, **_threads(gang, around), "DET_CHIEF_IP": gang.chief_address}


def _threads(gang: Gang, around: Mapping[str, str]) -> dict[str, str]:
    """The number of threads that the agent gave to the container is divided among its ranks. A number that the user
    chose is for each rank."""
    environment = gang.info.trial._config.get("environment") or {}
    by_device = environment.get("environment_variables") or {}
    lists = by_device.values() if isinstance(by_device, Mapping) else [by_device]
    chosen = any(str(entry).startswith(f"{THREADS}=") for entries in lists for entry in entries or ())
    given = around.get(THREADS, "")
    return {} if chosen or not given.isdigit() else {THREADS: str(max(1, int(given) // max(1, gang.here.slots)))}


_PORTS = {"comm_port_1": "INTER_TRAIN_PROCESS_COMM_PORT_1", "comm_port_2": "INTER_TRAIN_PROCESS_COMM_PORT_2"}


def ports(gang: Gang) -> dict[str, int]:
    """Ports for the collectives of the workers, reserved by the chief, in whose container rank 0 will listen."""
    return {name: gang.hold_port() for name in _PORTS}


def port_variables(facts: dict[str, Any]) -> dict[str, str]:
    return {variable: str(facts[name]) for name, variable in _PORTS.items()}

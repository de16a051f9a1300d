"""What fate has in store for a cluster: each blow as plain data, so that a story can be told again without it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tests.simulation.cluster import SimulatedCluster

PATIENT_S = 300.0
"""A blow that waits for a moment which does not come in so long is not struck."""


class Fault(Protocol):
    async def strike(self, cluster: SimulatedCluster) -> None: ...


@dataclass(frozen=True)
class Crash:
    """A service or an agent is killed, and started again later."""

    who: str
    after_s: float = 0.0
    for_s: float = 1.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        if cluster.kill(self.who, self):
            await asyncio.sleep(self.for_s)
            cluster.start(self.who)


@dataclass(frozen=True)
class CrashAtEvent:
    """Killed in the middle of its work: within moments of the log's event number `event`."""

    who: str
    event: int
    moment_s: float = 0.0
    for_s: float = 1.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        if await cluster.log.wait_beyond(self.event - 1, PATIENT_S):
            await Crash(self.who, self.moment_s, self.for_s).strike(cluster)


@dataclass(frozen=True)
class CrashAtStep:
    """Killed at one of its dealings with the log or the bus: just before, or just after what it writes there."""

    who: str
    step: int
    after_s: float = 0.0
    for_s: float = 1.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        process = cluster.processes[self.who]
        process.last_step = process.steps + self.step
        try:
            async with asyncio.timeout(PATIENT_S):
                await process.died.wait()
        except TimeoutError:
            process.last_step = None
            return
        cluster.happened(self)
        await asyncio.sleep(self.for_s)
        cluster.start(self.who)


@dataclass(frozen=True)
class Freeze:
    """A process is stopped and goes on later, as if nothing had been: a suspended machine, a swap storm."""

    who: str
    after_s: float
    for_s: float

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        cluster.happened(self)
        if self.who in cluster.hosts:
            cluster.lost_hosts.add(self.who)
        cluster.processes[self.who].frozen_until_s = asyncio.get_running_loop().time() + self.for_s


@dataclass(frozen=True)
class ClockJumps:
    """The wall clock of one service's host is set forward or back, for a while; its monotonic clock goes on."""

    who: str
    after_s: float
    by_s: float
    for_s: float

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        cluster.happened(self)
        cluster.set_clock(self.who, self.by_s)
        await asyncio.sleep(self.for_s)
        cluster.set_clock(self.who, 0.0)


@dataclass(frozen=True)
class AgentAway:
    """An agent is away for longer than the cluster waits: its tasks go on, and are given up meanwhile."""

    host: str
    after_s: float = 0.0
    for_s: float = 40.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        if cluster.kill(self.host, self):
            cluster.lost_hosts.add(self.host)
            await asyncio.sleep(self.for_s)
            cluster.start(self.host)


@dataclass(frozen=True)
class PowerCut:
    """A host goes down with its agent and all its tasks, and comes back empty; maybe with other slots than before."""

    host: str
    after_s: float = 0.0
    for_s: float = 1.0
    slots: int | None = None
    """How many it has afterwards; None: as many as before."""

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        host = cluster.hosts[self.host]
        cluster.victims.update(host.lose_power())
        cluster.lost_hosts.add(self.host)
        if cluster.kill(self.host, self):
            await asyncio.sleep(self.for_s)
            host.slots = host.slots if self.slots is None else self.slots
            cluster.start(self.host)


@dataclass(frozen=True)
class SlotsVanish:
    """Some slots of a host are gone under whatever runs there, and come back later; its agent restarts both times."""

    host: str
    after_s: float
    for_s: float
    left: int

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        host = cluster.hosts[self.host]
        for slots in (min(self.left, host.full), host.full):
            host.slots = slots
            if cluster.kill(self.host, self):
                cluster.start(self.host)
            await asyncio.sleep(self.for_s)


@dataclass(frozen=True)
class BusForgets:
    """The bus is away for a while, and comes back having forgotten everything."""

    after_s: float = 0.0
    for_s: float = 1.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        cluster.happened(self)
        cluster.machinery.bus_down = True
        await asyncio.sleep(self.for_s)
        cluster.bus.wipe()
        cluster.machinery.bus_down = False


@dataclass(frozen=True)
class DatabaseRestarts:
    """Nothing can be read or written for a while; nothing is forgotten."""

    after_s: float = 0.0
    for_s: float = 1.0

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        cluster.happened(self)
        cluster.machinery.log_down = True
        await asyncio.sleep(self.for_s)
        cluster.machinery.log_down = False


@dataclass(frozen=True)
class SnapshotsGo:
    """The snapshots are deleted, or spoilt by a bit: whoever starts next folds from the beginning."""

    after_s: float
    spoilt: bool

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        cluster.happened(self)
        if self.spoilt:
            cluster.log.spoil_snapshots()
        else:
            cluster.log.lose_snapshots()


@dataclass(frozen=True)
class MachineTakenBack:
    """The cloud of an elastic pool takes one of its machines back, whatever runs on it."""

    pool: str
    after_s: float

    async def strike(self, cluster: SimulatedCluster) -> None:
        await asyncio.sleep(self.after_s)
        machines = sorted(cluster.clouds[self.pool].machines)
        if machines:
            cluster.happened(self)
            cluster.clouds[self.pool].take_back(machines[0])

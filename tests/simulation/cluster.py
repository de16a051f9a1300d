"""The whole cluster in one process, on a made-up clock, from one seed: real services, pretended hosts and weather."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from random import Random
from typing import Any
from unittest import mock

from resolute.bus import Faults, MemoryBus
from resolute.checkpoint.shell import serve as serve_checkpoint
from resolute.config.pools import ResourcePool
from resolute.proto.checkpoint import ChangeCheckpointMetadata, CheckpointCompleted, DeleteCheckpoints
from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import CreateExperiment, ExperimentContinued, ExperimentEnded
from resolute.proto.message import Command, Reply
from resolute.proto.pool import EnableAgent, EnableSlot, StartTask
from resolute.relay.shell import serve as serve_relay
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduler.shell import serve as serve_scheduler
from resolute.searcher.shell import serve as serve_searcher
from resolute.service import Context, Snapshots
from resolute.tasks.shell import serve as serve_tasks
from tests.simulation import clock, gateway, processes
from tests.simulation.disk import CONFIG, Disk
from tests.simulation.faults import Fault
from tests.simulation.gateway import Doorway
from tests.simulation.hosts import HELLO_EVERY_S, Agent, Host
from tests.simulation.instances import Cloud
from tests.simulation.processes import Machinery, OpenLog, Process
from tests.simulation.training import LENGTH, Diary, Temper, Training

RECONNECT_WAIT_S = 20.0
QUIET_S = 1.5 * RECONNECT_WAIT_S
"""A cluster in which nothing has happened for so long is waiting for nothing."""
REPLICABLE = ("searcher", "scheduler", "checkpoint", "gateway", "relay", "tasks")
ME = "ada"


@dataclass(frozen=True)
class Setup:
    """What a cluster is made of, and the weather over it."""

    hosts: tuple[tuple[str, int], ...] = (("default", 2), ("default", 2))
    """The pool and the slots of each."""
    lose: float = 0.0
    """The share of messages that are lost; and so on."""
    repeat: float = 0.0
    delay_s: float = 0.01
    detours: float = 0.0
    """The share of messages that take seconds, and so come after later ones."""
    unknown: float = 0.0
    """The share of writes whose outcome their author is not told."""
    replicas: Mapping[str, int] = field(default_factory=dict)
    """Of those services that have more than one."""
    pools: tuple[ResourcePool, ...] = (ResourcePool(agent_reconnect_wait=RECONNECT_WAIT_S),)
    unwilling: float = 0.0
    """The share of machines that an elastic pool's cloud does not start; and of calls that it does not answer:"""
    cloud_away: float = 0.0
    snapshots_every: int = 5_000
    temper: Temper = field(default_factory=Temper)


@dataclass(frozen=True)
class Acknowledged:
    """What a person was told: this was done, and stands at `position`."""

    command: Command
    key: str
    reply: Reply


class SimulatedCluster:
    def __init__(self, seed: int, setup: Setup | None = None) -> None:
        self.seed, self.setup = seed, setup or Setup()
        self.disk = Disk()
        weather = self._weather(Random(f"weather/{seed}"))
        self.machinery = Machinery(OpenLog(), MemoryBus(weather), Random(f"latency/{seed}"), self.setup.unknown)
        self.log, self.bus = self.machinery.log, self.machinery.bus
        self.diary, self.doorway = Diary(), Doorway(Random(f"doorway/{seed}"))
        self.bugs: list[tuple[str, BaseException]] = []
        self.acknowledged: list[Acknowledged] = []
        self.jobs: dict[int, str] = {}
        """Job ids by experiment."""
        self.blows: deque[tuple[float, int, Fault]] = deque(maxlen=1000)
        """What fate has done: when, after which event, and what."""
        self.victims: set[str] = set()
        """Allocations whose host lost its power."""
        self.lost_hosts: set[str] = set()
        """Those that ever lost their power, or were out of touch for too long."""
        self.processes: dict[str, Process] = {}
        self._clocks: dict[str, float] = {}
        self.clouds = {pool.pool_name: self._cloud(pool.pool_name) for pool in self.setup.pools if pool.provider}
        self._serving = dict(self._services())
        self.hosts = {f"host-{n}": self._host(f"host-{n}", *host) for n, host in enumerate(self.setup.hosts)}
        self._serving |= {name: self._agent(host) for name, host in self.hosts.items()}
        self._later: set[asyncio.Task[None]] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._wishes = 0
        self._stage = ExitStack()

    async def __aenter__(self) -> SimulatedCluster:
        self._stage.enter_context(_stage(self.setup))
        self._stage.enter_context(self.disk.mounted())
        for name in self._serving:
            self.start(name)
        return self

    async def __aexit__(self, *failure: object) -> None:
        for task in (*self._later, *self._beside):
            task.cancel()
        for process in self.processes.values():
            process.kill()
        for host in self.hosts.values():
            host.lose_power()
        self._stage.close()

    # ------------------------------------------------------------ what people do

    async def submit(self, config: dict[str, Any], seed: int = 7) -> int:
        """The experiment's id, once that is acknowledged."""
        reply = await self.ask(CreateExperiment("simulated", self.merged(config), "", 1, ME, 1, seed))
        experiment_id: int = reply.data["experiment_id"]
        self.jobs[experiment_id] = reply.data["job_id"]
        return experiment_id

    @staticmethod
    def merged(config: dict[str, Any]) -> dict[str, Any]:
        """With the cluster's defaults."""
        kept = {"save_trial_latest": 1, "save_trial_best": 1, "save_experiment_best": 0}
        return {"checkpoint_storage": {**CONFIG, **kept}, **config}

    async def ask(self, command: Command) -> Reply:
        """As a person who tries again, with the same request, until there is an answer."""
        self._wishes += 1
        key = f"wish-{self._wishes}"
        reply = await self.doorway.wish(command, ME, key)
        self.acknowledged.append(Acknowledged(command, key, reply))
        return reply

    async def wish(self, command: Command) -> bool:
        """Whether it was granted rather than refused."""
        try:
            await self.ask(command)
        except ResoluteError:
            return False
        return True

    def outcome(self, experiment_id: int) -> str | None:
        """How it ended; None while it goes on, or on again."""
        for recorded in reversed(self.log.streams[f"experiment-{experiment_id}"]):
            match recorded.event:
                case ExperimentEnded(outcome=outcome):
                    return outcome
                case ExperimentContinued():
                    return None
        return None

    async def until(self, holds: Callable[[], bool], within_s: float) -> None:
        """Wait, on the made-up clock, until it `holds`."""
        async with asyncio.timeout(within_s):
            while not holds():
                self.check_bugs()
                await asyncio.sleep(1.0)

    def later(self, after_s: float, *commands: Command, pauses_s: Sequence[float] = ()) -> None:
        """One after another, with these pauses between them."""

        async def wish() -> None:
            pauses = chain((after_s, *pauses_s), repeat(0.0))
            for pause_s, command in zip(pauses, commands, strict=False):
                await asyncio.sleep(pause_s)
                await self.wish(command)

        self.soon(wish())

    async def mend(self) -> None:
        """As its operators do in the end: hosts have all their slots, and all are enabled. One that was not there could
        not be enabled when its time had come."""
        hosts = list(self.hosts.values())
        for host in hosts:
            host.slots = host.full
        await asyncio.sleep(2 * HELLO_EVERY_S)
        for host in hosts:
            await self.wish(EnableAgent(host.pool, host.agent_id))
            for slot in range(host.slots):
                await self.wish(EnableSlot(host.pool, host.agent_id, slot))

    def delete_a_checkpoint(self, experiment_id: int, after_s: float, globs: tuple[str, ...] = ()) -> None:
        """Somebody names the newest checkpoint of a search that may still need it, deletes it, or files of it, and has
        second thoughts about the name."""

        async def delete() -> None:
            await asyncio.sleep(after_s)
            history = self.log.streams[f"checkpoints-{experiment_id}"]
            complete = [recorded.event.uuid for recorded in history if isinstance(recorded.event, CheckpointCompleted)]
            if complete:
                uuid = complete[-1]
                await self.wish(ChangeCheckpointMetadata(experiment_id, uuid, {"name": "to go"}))
                await self.wish(DeleteCheckpoints(experiment_id, (uuid,), "to make room", globs))
                await asyncio.sleep(5.0)
                await self.wish(ChangeCheckpointMetadata(experiment_id, uuid, {"name": "what is left"}))

        self.soon(delete())

    # ------------------------------------------------------------ what fate does

    def strike(self, fault: Fault) -> None:
        self.soon(fault.strike(self))

    def happened(self, fault: Fault) -> None:
        self.blows.append((clock.elapsed_s(), len(self.log.story), fault))

    def start(self, name: str) -> None:
        """Unless it runs."""
        if name in self.processes and not self.processes[name].dead:
            return
        ahead_s = self._clocks.get(name, 0.0)
        process = Process(name, self.machinery, self._serving[name], self._bug, clock_ahead_s=ahead_s)
        self.processes[name] = process
        process.start()

    def kill(self, name: str, fault: Fault) -> bool:
        """Whether there was anything to kill."""
        if self.processes[name].dead:
            return False
        self.happened(fault)
        self.processes[name].kill()
        return True

    def set_clock(self, name: str, ahead_s: float) -> None:
        """Of the host that the service runs on: a restart does not mend it."""
        self._clocks[name] = self.processes[name].clock_ahead_s = ahead_s

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """What goes on as long as there is something to do, whether or not fate is done."""
        task = asyncio.create_task(work)
        self._beside.add(task)

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        self._later.add(asyncio.create_task(work))

    @property
    def quiet(self) -> bool:
        """Whether neither fate nor anybody else has more in store. Raises what any of it failed with."""
        for task in [task for task in self._later if task.done()]:
            self._later.remove(task)
            task.result()
        return not self._later

    # ------------------------------------------------------------ who takes part

    def _weather(self, chance: Random) -> Faults:
        setup = self.setup

        def delay_s() -> float:
            detour = setup.detours and chance.random() < setup.detours
            return chance.uniform(0.5, 8.0) if detour else chance.uniform(0, 2 * setup.delay_s)

        return Faults(
            lost=lambda: bool(setup.lose) and chance.random() < setup.lose,
            repeated=lambda: bool(setup.repeat) and chance.random() < setup.repeat,
            delay_s=delay_s,
            pick=lambda members: chance.randrange(members) if members > 1 else 0,
        )

    def _services(self) -> Iterator[tuple[str, Callable[[Context], Awaitable[None]]]]:
        settings = SchedulerSettings(pools=self.setup.pools, tick_s=1.0)

        async def serve_pools(context: Context) -> None:
            await serve_scheduler(context, settings, lambda pool: self.clouds[pool.pool_name])

        kinds = (serve_searcher, serve_pools, serve_checkpoint, self.doorway.serve, serve_relay, serve_tasks)
        for name, serve in zip(REPLICABLE, kinds, strict=True):
            for n in range(self.setup.replicas.get(name, 1)):
                yield f"{name}-{n}", serve

    def _host(self, name: str, pool: str, slots: int) -> Host:
        def train(order: StartTask) -> Training:
            return Training(order, self.setup.temper, self.doorway, self.diary, self.disk)

        return Host(name, pool, slots, train, self.diary, self._bug)

    def _cloud(self, pool: str) -> Cloud:
        def boot(agent_id: str, slots: int) -> None:
            self.hosts[agent_id] = host = self._host(agent_id, pool, slots)
            self._serving[agent_id] = self._agent(host)
            self.start(agent_id)

        def shut(agent_id: str) -> None:
            if agent_id in self.hosts:
                self.lost_hosts.add(agent_id)
                self.victims.update(self.hosts[agent_id].lose_power())
                self.processes[agent_id].kill()

        setup = self.setup
        return Cloud(Random(f"cloud/{self.seed}/{pool}"), boot, shut, setup.unwilling, setup.cloud_away)

    def _agent(self, host: Host) -> Callable[[Context], Awaitable[None]]:
        async def serve(context: Context) -> None:
            await Agent(host, context).run()

        return serve

    def _bug(self, where: str, error: BaseException) -> None:
        self.bugs.append((where, error))

    def check_bugs(self) -> None:
        for task in self._beside:
            if task.done():
                task.result()
        for where, error in self.bugs:
            raise AssertionError(f"{where} stopped with a bug: {error!r}") from error

    # ------------------------------------------------------------ what must hold

    async def settle(self) -> None:
        """Until nothing has happened for a while: what follows from the last events has followed."""
        async with asyncio.timeout(3600):
            before = -1
            while before != await self.log.head() or self._reports_are_due():
                before = await self.log.head()
                await asyncio.sleep(QUIET_S)

    def _reports_are_due(self) -> bool:
        """Whether a host still says that a task has ended: in bad weather no answer may come for long."""
        return any(task.exit is not None for host in self.hosts.values() for task in host.tasks.values())

    async def check_promises(self) -> None:
        from tests.simulation.promises import check

        self.check_bugs()
        broken = await self.log.verify()
        assert broken is None, str(broken)
        check(self)

    def check_promises_of_the_dead(self, experiment_id: int) -> None:
        from tests.simulation.promises import no_file_is_left

        self.check_bugs()
        no_file_is_left(self, experiment_id)


@contextmanager
def _stage(setup: Setup) -> Iterator[None]:
    """Where the services play: their tables are in memory, and their snapshots are as frequent as the story wants."""
    often = {"every": setup.snapshots_every}
    defaults: Any = Snapshots.__init__.__kwdefaults__
    with gateway.in_memory(), processes.witnessed(), mock.patch.dict(defaults, often):
        yield


def search(
    name: str = "random",
    *,
    slots: int = 1,
    slots_min: int | None = None,
    priority: int = 42,
    pool: str = "default",
    **searcher: Any,
) -> dict[str, Any]:
    """A configuration for trials that train `LENGTH` batches, unless their search goes by a time or by its client."""
    timed = "time_metric" in searcher or name == "custom"
    length = {} if timed else {"max_length": {"batches": LENGTH}}
    asked = slots if slots_min in (None, slots) else {"min": slots_min, "max": slots}
    return {
        "name": "simulated",
        "searcher": {"name": name, "metric": "loss", **length, **searcher},
        "hyperparameters": {
            "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1, "count": 3},
            "layers": {"type": "int", "minval": 1, "maxval": 2, "count": 2},
        },
        "max_restarts": 3,
        "preemption_timeout": 10,
        "resources": {"slots_per_trial": asked, "resource_pool": pool, "priority": priority},
    }

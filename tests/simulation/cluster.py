"""The whole cluster in one process, on a made-up clock, from one seed: real services, pretended hosts and weather."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from resolute.bus import MemoryBus, Weather
from resolute.checkpoint.shell import serve as serve_checkpoint
from resolute.proto.checkpoint import CheckpointCompleted, DeleteCheckpoints
from resolute.proto.errors import ResoluteError, Unavailable
from resolute.proto.experiment import CreateExperiment, ExperimentEnded
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.pool import StartTask
from resolute.relay.shell import serve as serve_relay
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduler.shell import serve as serve_scheduler
from resolute.searcher.shell import serve as serve_searcher
from resolute.service import Context
from tests.simulation.gateway import Doorway, Gateway
from tests.simulation.hosts import Agent, Host
from tests.simulation.processes import Machinery, OpenLog, Process
from tests.simulation.training import LENGTH, Diary, Temper, Training

RECONNECT_WAIT_S = 20.0


@dataclass(frozen=True)
class Acknowledged:
    """What a person was told: this was done, and stands at `position`."""

    command: Command
    cause_id: str
    reply: Reply


class SimulatedCluster:
    def __init__(
        self,
        seed: int,
        *,
        agents: int = 2,
        slots_per_agent: int = 2,
        lose: float = 0.0,
        repeat: float = 0.0,
        delay_s: float = 0.01,
        replicas: int = 1,
        preemption: bool = False,
        temper: Temper | None = None,
    ) -> None:
        self.seed, self.rng = seed, Random(f"cluster/{seed}")
        self.temper = temper or Temper()
        self.storage = Path(tempfile.mkdtemp(prefix="resolute-simulation-"))
        chance = Random(f"weather/{seed}")
        weather = Weather(
            lost=lambda: chance.random() < lose,
            repeated=lambda: chance.random() < repeat,
            delay_s=lambda: chance.uniform(0, 2 * delay_s),
        )
        self.machinery = Machinery(OpenLog(), MemoryBus(weather), Random(f"latency/{seed}"))
        self.log, self.bus = self.machinery.log, self.machinery.bus
        self.diary, self.doorway = Diary(), Doorway()
        self.bugs: list[tuple[str, BaseException]] = []
        self.acknowledged: list[Acknowledged] = []
        self.victims: set[str] = set()
        """Allocations whose host lost its power."""
        self.lost_hosts: set[str] = set()
        """Those that ever lost their power, or were out of touch for too long."""
        self.processes: dict[str, Process] = {}
        self._serving = self._services(replicas, preemption)
        self.hosts = {name: self._host(name, slots_per_agent) for name in (f"host-{n}" for n in range(agents))}
        self._serving |= {name: self._agent(host) for name, host in self.hosts.items()}
        self._later: set[asyncio.Task[None]] = set()
        self._wishes = 0

    async def __aenter__(self) -> SimulatedCluster:
        for name in self._serving:
            self.start(name)
        return self

    async def __aexit__(self, *failure: object) -> None:
        for task in self._later:
            task.cancel()
        for process in self.processes.values():
            process.kill()
        for host in self.hosts.values():
            host.lose_power()
        shutil.rmtree(self.storage, ignore_errors=True)

    # ------------------------------------------------------------ what people do

    async def submit(self, config: dict[str, Any], seed: int = 7) -> int:
        """The experiment's id, once that is acknowledged."""
        storage = {"type": "shared_fs", "host_path": str(self.storage), "save_trial_latest": 1, "save_trial_best": 1}
        merged = {"checkpoint_storage": {**storage, "save_experiment_best": 0}, **config}
        wish = CreateExperiment("simulated", merged, "", 1, "ada", 1, seed)
        experiment_id: int = (await self.ask(wish)).data["experiment_id"]
        return experiment_id

    async def ask(self, command: Command) -> Reply:
        """As a person who tries again, with the same request, until there is an answer."""
        self._wishes += 1
        cause = Cause(f"wish/{self._wishes}", actor="ada")
        while True:
            try:
                reply = await self.bus.request(command, cause, 3.0)
            except Unavailable:
                await asyncio.sleep(1.0)
                continue
            self.acknowledged.append(Acknowledged(command, cause.id, reply))
            return reply

    async def wish(self, command: Command) -> bool:
        """Whether it was granted rather than refused."""
        try:
            await self.ask(command)
        except ResoluteError:
            return False
        return True

    def outcome(self, experiment_id: int) -> str | None:
        events = (recorded.event for recorded in self.log.streams[f"experiment-{experiment_id}"])
        return next((event.outcome for event in events if isinstance(event, ExperimentEnded)), None)

    async def until(self, holds: Callable[[], bool], within_s: float) -> None:
        """Wait, on the made-up clock, until it `holds`."""
        async with asyncio.timeout(within_s):
            while not holds():
                self.check_bugs()
                await asyncio.sleep(1.0)

    # ------------------------------------------------------------ what fate does

    def start(self, name: str) -> None:
        process = Process(name, self.machinery, self._serving[name], self._bug)
        self.processes[name] = process
        process.start()

    def crash(self, name: str, *, after_s: float = 0.0, for_s: float = 1.0) -> None:
        """Kill a service or an agent, and start it again later."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            if not self.processes[name].dead:
                self.processes[name].kill()
                await asyncio.sleep(for_s)
                self.start(name)

        self._soon(fate())

    def crash_at(self, name: str, event: int, *, for_s: float = 1.0) -> None:
        """Kill a service in the middle of its work: within moments of the log's event number `event`."""
        moment_s = self.rng.uniform(0, 0.05)

        async def fate() -> None:
            if await self.log.wait_beyond(event - 1, 300.0):
                self.crash(name, after_s=moment_s, for_s=for_s)

        self._soon(fate())

    def isolate(self, host: str, *, after_s: float = 0.0, for_s: float = 40.0) -> None:
        """An agent is away for longer than the cluster waits: its tasks go on, and are given up meanwhile."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            if not self.processes[host].dead:
                self.processes[host].kill()
                self.lost_hosts.add(host)
                await asyncio.sleep(for_s)
                self.start(host)

        self._soon(fate())

    def cut_power(self, host: str, *, after_s: float = 0.0, for_s: float = 1.0) -> None:
        """A host goes down with its agent and all its tasks, and comes back empty."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            self.victims.update(self.hosts[host].lose_power())
            self.lost_hosts.add(host)
            if not self.processes[host].dead:
                self.processes[host].kill()
                await asyncio.sleep(for_s)
                self.start(host)

        self._soon(fate())

    def lose_bus(self, *, after_s: float = 0.0, for_s: float = 1.0) -> None:
        """The bus is away for a while, and comes back having forgotten everything."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            self.machinery.bus_down = True
            await asyncio.sleep(for_s)
            self.bus.wipe()
            self.machinery.bus_down = False

        self._soon(fate())

    def lose_log(self, *, after_s: float = 0.0, for_s: float = 1.0) -> None:
        """The database restarts: nothing can be read or written for a while; nothing is forgotten."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            self.machinery.log_down = True
            await asyncio.sleep(for_s)
            self.machinery.log_down = False

        self._soon(fate())

    def later(self, command: Command, after_s: float) -> None:
        async def fate() -> None:
            await asyncio.sleep(after_s)
            await self.wish(command)

        self._soon(fate())

    def delete_a_checkpoint(self, experiment_id: int, after_s: float) -> None:
        """Somebody deletes the newest checkpoint of a search that may still need it."""

        async def fate() -> None:
            await asyncio.sleep(after_s)
            history = self.log.streams[f"checkpoints-{experiment_id}"]
            complete = [recorded.event.uuid for recorded in history if isinstance(recorded.event, CheckpointCompleted)]
            if complete:
                await self.wish(DeleteCheckpoints(experiment_id, (complete[-1],), "to make room"))

        self._soon(fate())

    def _soon(self, fate: Any) -> None:
        task = asyncio.create_task(fate)
        self._later.add(task)

    @property
    def quiet(self) -> bool:
        """Whether fate has nothing more in store."""
        return all(task.done() for task in self._later)

    # ------------------------------------------------------------ who takes part

    def _services(self, replicas: int, preemption: bool) -> dict[str, Callable[[Context], Awaitable[None]]]:
        settings = SchedulerSettings(
            pools=("default",), agent_reconnect_wait_s=RECONNECT_WAIT_S, tick_s=1.0, preemption=preemption
        )

        async def serve_gateway(context: Context) -> None:
            self.doorway.gateway = gateway = Gateway(context)
            await gateway.run()

        async def serve_pools(context: Context) -> None:
            await serve_scheduler(context, settings)

        single = {"relay": serve_relay, "gateway": serve_gateway, "checkpoint": serve_checkpoint}
        many = {
            f"{name}-{n}": serve
            for name, serve in (("searcher", serve_searcher), ("scheduler", serve_pools))
            for n in range(replicas)
        }
        return {**single, **many}

    def _host(self, name: str, slots: int) -> Host:
        def train(order: StartTask) -> Training:
            return Training(order, self.temper, self.doorway.call, self.doorway.preempting, self.diary)

        return Host(name, slots, train, self.diary, self._bug)

    def _agent(self, host: Host) -> Callable[[Context], Awaitable[None]]:
        async def serve(context: Context) -> None:
            await Agent(host, context).run()

        return serve

    def _bug(self, where: str, error: BaseException) -> None:
        self.bugs.append((where, error))

    def check_bugs(self) -> None:
        for where, error in self.bugs:
            raise AssertionError(f"{where} stopped with a bug: {error!r}") from error

    # ------------------------------------------------------------ what must hold

    async def settle(self) -> None:
        """Until nothing has happened for a while: what follows from the last events has followed."""
        async with asyncio.timeout(3600):
            before = -1
            while before != await self.log.head():
                before = await self.log.head()
                await asyncio.sleep(60)

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


def search(name: str = "random", *, slots: int = 1, priority: int = 42, **searcher: Any) -> dict[str, Any]:
    """A configuration for trials that train `LENGTH` batches."""
    return {
        "name": "simulated",
        "searcher": {"name": name, "metric": "loss", "max_length": {"batches": LENGTH}, **searcher},
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
        "max_restarts": 3,
        "preemption_timeout": 10,
        "resources": {"slots_per_trial": slots, "resource_pool": "default", "priority": priority},
    }

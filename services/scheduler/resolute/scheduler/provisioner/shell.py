"""Carries out the decisions about an elastic pool, in a loop: ask the provider which instances run, record the
decisions that follow, and launch and terminate instances.

No state here has to survive a restart. An instance that was requested and does not run is launched, one that is
stopping is terminated, and one that runs without having been requested is ended, by whichever scheduler is first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import structlog

from resolute.config.pools import ResourcePool
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause
from resolute.scheduler.provisioner.local import LocalProvider
from resolute.scheduler.provisioner.provider import InstanceProvider, LaunchFailed
from resolute.scheduler.provisioner.settings import LocalSettings
from resolute.scheduling.elastic.fleet import Fleet, Instance, State
from resolute.scheduling.elastic.plan import Observed, Provision
from resolute.scheduling.pool import Pool

log_ = structlog.get_logger()

LOOK_EVERY_S = 2.0
REST_S = 0.25
"""The shortest pause between two rounds of the loop, however much happens in the pool."""

ProviderOf = Callable[[ResourcePool], InstanceProvider]


def provider_of(pool: ResourcePool) -> InstanceProvider:
    return LocalProvider(pool, LocalSettings())


class Provisioner:
    """Starts and ends the instances of one pool. Calls of the provider run on threads, one at a time per instance."""

    def __init__(
        self,
        settings: ResourcePool,
        provider: InstanceProvider,
        state: Callable[[], Awaitable[Pool]],
        decide: Callable[[Provision, Cause], Awaitable[object]],
    ) -> None:
        self._settings, self._provider, self._state, self._decide = settings, provider, state, decide
        self._news = asyncio.Event()
        self._doing: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[int, str] = {}
        self._ended: set[int] = set()

    def nudge(self) -> None:
        """Ask for the next round now, because something has happened in the pool."""
        self._news.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._news.clear()
                try:
                    await self.look(group)
                except Unavailable as error:
                    log_.warning("instances were not checked", pool=self._settings.pool_name, why=error.message)
                await asyncio.sleep(REST_S)
                await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._news.wait()
        except TimeoutError:
            return

    async def look(self, group: asyncio.TaskGroup) -> None:
        """One round. Launches and terminations are started in `group`."""
        known = frozenset(i.number for i in (await self._state()).fleet.instances.values() if i.instance_id)
        listed = await asyncio.to_thread(self._provider.running)
        failed, ended = dict(self._failed), frozenset(self._ended)
        observed = Observed(known, listed, failed, ended)
        await self._decide(Provision(self._settings, observed), Cause(f"provision/{uuid4()}"))
        self._failed = {number: why for number, why in self._failed.items() if number not in failed}
        self._ended -= ended
        self._do((await self._state()).fleet, frozenset(listed), group)

    def _do(self, fleet: Fleet, listed: frozenset[str], group: asyncio.TaskGroup) -> None:
        requested = {instance.name for instance in fleet.instances.values()}
        for instance in fleet.instances.values():
            missing = instance.name not in listed and instance.number not in self._failed
            if instance.state is State.REQUESTED and missing:
                self._begin(group, instance.name, self._launch(instance))
            elif instance.state is State.STOPPING and instance.number not in self._ended:
                self._begin(group, instance.name, self._terminate(instance.name, instance.number))
        for name in listed - requested - self._doing.keys():
            log_.warning("an instance that was not requested is ended", instance=name)
            self._begin(group, name, self._terminate(name))

    def _begin(self, group: asyncio.TaskGroup, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Starts `work`, unless work on the same instance goes on."""
        if name in self._doing:
            return

        async def do() -> None:
            try:
                await work()
            except Unavailable as error:
                log_.warning("the provider is away", instance=name, why=error.message)
            finally:
                del self._doing[name]
                self.nudge()

        self._doing[name] = group.create_task(do())

    def _launch(self, instance: Instance) -> Callable[[], Awaitable[None]]:
        async def launch() -> None:
            try:
                await asyncio.to_thread(self._provider.launch, instance)
                log_.info("instance launched", instance=instance.name)
            except LaunchFailed as error:
                self._failed[instance.number] = str(error)

        return launch

    def _terminate(self, name: str, number: int | None = None) -> Callable[[], Awaitable[None]]:
        async def terminate() -> None:
            await asyncio.to_thread(self._provider.terminate, name)
            log_.info("instance ended", instance=name)
            if number is not None:
                self._ended.add(number)

        return terminate

"""An elastic pool played by hand: a provider that does what it is told, and a clock that is turned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from resolute.config.pools import Provider, ResourcePool
from resolute.proto.message import Event
from resolute.proto.pool import AllocationHeldBack, AllocationWaits
from resolute.scheduling.decisions import ExpireLease
from resolute.scheduling.elastic.fleet import Instance, State
from resolute.scheduling.elastic.plan import Observed, Provision
from tests.unit.scheduler.stories import PoolStory, exited, hello

IDLE_S, STARTING_S = 1200.0, 600.0


def elastic(**provider: Any) -> ResourcePool:
    given = {"max_idle_agent_period": IDLE_S, "max_agent_starting_period": STARTING_S, **provider}
    return ResourcePool(provider=Provider(**given))


@dataclass
class Cloud:
    """A pool whose instances run where `running` says. It launches and terminates nothing by itself."""

    settings: ResourcePool
    story: PoolStory = field(default_factory=PoolStory)
    running: dict[str, str] = field(default_factory=dict)
    failing: str = ""
    """Why no instance can be started at present."""
    failed: dict[int, str] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    @property
    def instances(self) -> list[Instance]:
        return list(self.story.pool.fleet.instances.values())

    def in_state(self, *states: State) -> list[Instance]:
        return [instance for instance in self.instances if instance.state in states]

    def look(self) -> list[Event]:
        """The provider is asked, and it is decided; answers what was, but for what those who wait are told."""
        known = frozenset(instance.number for instance in self.instances if instance.instance_id)
        observed = Observed(known, dict(self.running), dict(self.failed), frozenset(self.ended))
        self.story.when(Provision(self.settings, observed))
        self.failed, self.ended = {}, set()
        return [e for e in self.story.latest if not isinstance(e, AllocationHeldBack | AllocationWaits)]

    def work(self) -> None:
        """What was decided is done."""
        for instance in self.instances:
            if instance.state is State.REQUESTED and self.failing:
                self.failed[instance.number] = self.failing
            elif instance.state is State.REQUESTED:
                self.running[instance.name] = f"i-{instance.number}"
            elif instance.state is State.STOPPING:
                self.running.pop(instance.name, None)
                self.ended.add(instance.number)

    def join(self) -> None:
        """Agents of everything that runs say hello."""
        for instance in self.instances:
            if instance.name in self.running:
                self.story.when(hello(instance.agent_id, instance.slots))

    def settle(self, rounds: int = 6) -> Cloud:
        for _ in range(rounds):
            self.look()
            self.work()
            self.join()
        return self

    def later(self, seconds: float) -> Cloud:
        self.story.later(seconds)
        return self

    def pass_by(self, seconds: float, step_s: float = 60.0) -> Cloud:
        """Time passes, and every now and then somebody looks."""
        for _ in range(int(seconds // step_s)):
            self.later(step_s).settle(2)
        return self

    def finish(self, allocation: str) -> Cloud:
        shares = self.story.pool.allocations[allocation].shares.values()
        for rank in [share.rank for share in shares if not share.exited]:
            self.story.when(exited(self.story, allocation, rank))
        return self

    def lose(self, instance: Instance) -> Cloud:
        """The cloud takes it back."""
        del self.running[instance.name]
        return self

    def silence(self, instance: Instance) -> Cloud:
        self.story.when(ExpireLease(instance.agent_id, 30))
        return self

    def set(self, **provider: Any) -> Cloud:
        assert self.settings.provider is not None
        changed = self.settings.provider.model_copy(update=provider)
        self.settings = self.settings.model_copy(update={"provider": changed})
        return self


def crashed(cloud: Cloud) -> Cloud:
    """Another scheduler takes over: it knows the log, and what the provider says."""
    return replace(cloud, failed={}, ended=set())

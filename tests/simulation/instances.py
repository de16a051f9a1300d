"""A cloud that elastic pools start machines in: slow, sometimes unwilling, and free to take a machine back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from resolute.proto.errors import Unavailable
from resolute.scheduler.provisioner.provider import LaunchFailed
from resolute.scheduling.elastic.fleet import Instance


@dataclass
class Cloud:
    """The `InstanceProvider` of one pool. What it has launched outlives every scheduler."""

    rng: Random
    boot: Callable[[str, int], None]
    """A machine with so many slots is up, and its agent starts under that id."""
    shut: Callable[[str], None]
    """The machine of that agent is no more, with all that ran on it."""
    unwilling: float = 0.0
    """The share of launches that fail; as many are accepted and never come up."""
    away: float = 0.0
    """The share of calls that find nobody."""
    machines: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The provider's id and the agent's, by name."""
    _booting: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    _launched: int = 0

    def launch(self, instance: Instance) -> None:
        self._answer()
        if instance.name in self.machines:
            return
        chance = self.rng.random()
        if chance < self.unwilling:
            raise LaunchFailed("no capacity left in this zone")
        self._launched += 1
        self.machines[instance.name] = f"i-{self._launched}", instance.agent_id
        if chance > 2 * self.unwilling or not self.unwilling:
            loop = asyncio.get_running_loop()
            boot_s = self.rng.uniform(1, 20)
            self._booting[instance.name] = loop.call_later(boot_s, self.boot, instance.agent_id, instance.slots)

    def terminate(self, name: str) -> None:
        self._answer()
        self.take_back(name)

    def take_back(self, name: str) -> None:
        """As a spot market does, too."""
        if name in self.machines:
            _, agent_id = self.machines.pop(name)
            if (booting := self._booting.pop(name, None)) is not None:
                booting.cancel()
            self.shut(agent_id)

    def running(self) -> Mapping[str, str]:
        self._answer()
        return {name: machine for name, (machine, _) in self.machines.items()}

    def _answer(self) -> None:
        if self.rng.random() < self.away:
            raise Unavailable("the cloud does not answer")

"""The registry of runtimes: what each declares, how an agent opens one, and whether it can run a task.

The agent knows no runtime by name. A runtime declares in its own module which features it gives, and `runtimes.py` is
the one place that lists the runtimes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from resolute.agent.runtime import CannotStart, Launch, TaskRuntime
from resolute.proto.errors import InvalidConfig
from resolute.proto.needs import Feature, TaskNeeds, needs_of
from resolute.proto.pool import Slot, StartTask


@dataclass(frozen=True, slots=True)
class OpenRuntime:
    """A runtime at work on this host."""

    name: str
    gives: frozenset[Feature]
    tasks: TaskRuntime
    launch: Callable[[StartTask], Launch]
    """Makes of an order what `tasks` can start. The order's secrets are open. Raises CannotStart."""


class Prepared(Protocol):
    """A runtime that this process is ready to open."""

    def announce(self) -> None:
        """Say in the agent's log how tasks are kept apart, where the runtime has a word to say. The agent has its work
        directory to itself by now."""
        ...

    def open(self, slots: tuple[Slot, ...]) -> OpenRuntime:
        """`slots`: those of this host. Raises InvalidConfig."""
        ...


S_contra = TypeVar("S_contra", contravariant=True)
S = TypeVar("S")


class RuntimeKind(Protocol[S_contra]):
    """A runtime as its own module declares it. `S_contra`: the settings that it reads."""

    @property
    def name(self) -> str:
        """As the setting `runtime` names it."""
        ...

    @property
    def gives(self) -> frozenset[Feature]:
        """What it can give a task."""
        ...

    def prepare(self, settings: S_contra, confine: bool) -> Prepared:
        """`confine`: whether this process may be kept from the files that its tasks must not see. That cannot be
        undone, and the process must have one thread."""
        ...


class Registry(Generic[S]):
    """Which runtimes there are."""

    def __init__(self, kinds: Sequence[RuntimeKind[S]]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        assert len(self._kinds) == len(kinds) > 0, "every runtime has a name of its own"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    def named(self, name: str) -> RuntimeKind[S]:
        """The first runtime for an empty name. Raises InvalidConfig."""
        found = self._kinds.get(name or self.names[0])
        if found is None:
            raise InvalidConfig(
                f"runtime (RESOLUTE_AGENT_RUNTIME): there is no runtime {name!r}; there are {', '.join(self.names)}"
            )
        return found

    def that_give(self, features: frozenset[str]) -> tuple[str, ...]:
        """The names of the runtimes that give all of these."""
        return tuple(name for name, kind in self._kinds.items() if features <= kind.gives)


@dataclass(frozen=True, slots=True)
class Runtimes(Generic[S]):
    """The registry, and the runtime that this agent has opened."""

    registry: Registry[S]
    open: OpenRuntime

    def find(self, needs: TaskNeeds) -> OpenRuntime:
        """The runtime of this agent that can run a task with these needs.

        Raises CannotStart, which is hopeless: another try on this agent would end the same way.
        """
        essential = frozenset(needs.essential)
        if essential <= self.open.gives:
            return self.open
        missing = ", ".join(sorted(essential - self.open.gives))
        able = " or ".join(self.registry.that_give(essential))
        advice = f"; an agent with RESOLUTE_AGENT_RUNTIME={able} can" if able else "; no runtime can"
        raise CannotStart(
            f"the task cannot run without {missing}, which the runtime {self.open.name!r} of this agent does not "
            f"give{advice}",
            hopeless=True,
        )


def needs_in(order: StartTask) -> TaskNeeds:
    """What the task of an order needs. An owner of an earlier release says it in the task's configuration only."""
    return order.spec.needs if order.spec.needs is not None else needs_of(order.spec.config)

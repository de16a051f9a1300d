"""The registry of runtimes: the features that each gives, how an agent opens one, and whether it can run a task.

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
    """A runtime that is in use on this host."""

    name: str
    gives: frozenset[Feature]
    tasks: TaskRuntime
    launch: Callable[[StartTask], Launch]
    """Makes the launch for `tasks.start` from an order whose secrets have been opened. Raises CannotStart."""


class Prepared(Protocol):
    """A runtime for which this process has been prepared."""

    def announce(self) -> None:
        """Log how far tasks are kept apart. Called when the agent has locked its work directory."""
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
        """The name for the setting `runtime`."""
        ...

    @property
    def gives(self) -> frozenset[Feature]:
        """The features that it gives to tasks."""
        ...

    def prepare(self, settings: S_contra, confine: bool) -> Prepared:
        """`confine`: whether this process may be kept from the files that its tasks must not see. That cannot be
        undone, and the process must have one thread."""
        ...


class Registry(Generic[S]):
    """All runtimes, by name."""

    def __init__(self, kinds: Sequence[RuntimeKind[S]]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        assert len(self._kinds) == len(kinds) > 0, "every runtime has a name of its own"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    def named(self, name: str) -> RuntimeKind[S]:
        """The runtime of that name, or the first one for an empty name. Raises InvalidConfig."""
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

        Raises a hopeless CannotStart when the runtime does not give an essential feature.
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
    """The needs of the task in an order. An order from an earlier release has them in the configuration only."""
    return order.spec.needs if order.spec.needs is not None else needs_of(order.spec.config)

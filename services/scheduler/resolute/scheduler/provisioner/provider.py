"""The interface of a cloud: what an elastic pool needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from resolute.scheduling.elastic.fleet import Instance


class LaunchFailed(Exception):
    """An instance could not be started; the text says why, for people."""


class InstanceProvider(Protocol):
    """Starts and ends the instances of one pool, and knows them by the names they were given.

    Called on threads, also at once and from several schedulers. Every method may raise `Unavailable` when the provider
    itself cannot be asked; it is asked again later.
    """

    def launch(self, instance: Instance) -> None:
        """Start an instance whose agent joins the pool as `instance.agent_id` with `instance.slots` slots.

        Returns once the provider has accepted. Where an instance of that name runs already nothing happens. Raises
        LaunchFailed; whether something runs after that is for `running` to say.
        """
        ...

    def terminate(self, name: str) -> None:
        """Ends the instance and everything that runs on it. Returns when no part of it runs, also where none ran
        before."""
        ...

    def running(self) -> Mapping[str, str]:
        """The provider's own id of every instance of the pool that runs or is about to, by name: launched ones from
        the moment that `launch` has returned."""
        ...

"""The interface of a provider of instances, such as a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from resolute.scheduling.elastic.fleet import Instance


class LaunchFailed(Exception):
    """An instance could not be started. The message says why."""


class InstanceProvider(Protocol):
    """Starts and ends the instances of one pool. An instance is known by its name.

    Methods are called on several threads at once, and by several schedulers. Each may raise `Unavailable` when the
    provider does not answer; the call is repeated later.
    """

    def launch(self, instance: Instance) -> None:
        """Start an instance whose agent joins the pool as `instance.agent_id` with `instance.slots` slots.

        Returns once the provider has accepted. Has no effect when an instance of that name runs already. Raises
        LaunchFailed; an instance may run even then, and `running` shows it.
        """
        ...

    def terminate(self, name: str) -> None:
        """End the instance and everything that runs on it. Returns when nothing of it runs, or nothing ever did."""
        ...

    def running(self) -> Mapping[str, str]:
        """By name, the provider's own id of every instance of the pool that runs or is being started. An instance is
        included from the moment when `launch` returns."""
        ...

"""What the runtime of processes has to know of a task besides what every runtime does: whom the task runs as."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.agent.accounts import Account
from resolute.agent.runtime import Launch


@dataclass(frozen=True, slots=True)
class ProcessLaunch(Launch):
    account: Account | None = None
    """Whom the task runs as, where that is not the agent's own user."""


def account_of(launch: Launch) -> Account | None:
    """Whom the task runs as; None for the agent's own user."""
    return launch.account if isinstance(launch, ProcessLaunch) else None

"""The launch of a process: like every launch, and the system user that the task runs as."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.agent.accounts import Account
from resolute.agent.runtime import Launch


@dataclass(frozen=True, slots=True)
class ProcessLaunch(Launch):
    account: Account | None = None
    """The system user of the task, where that is not the agent's own user."""


def account_of(launch: Launch) -> Account | None:
    """The system user of the task; None for the agent's own user."""
    return launch.account if isinstance(launch, ProcessLaunch) else None

"""Who a caller is: a user, a task, or a monitoring system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskClaims:
    """What a task's token says it is."""

    task_id: str
    allocation_id: str
    trial_id: int | None = None
    experiment_id: int | None = None
    given_up: str = ""
    """Why its run is no longer believed; empty while it is. A given-up run may still be running."""
    deleted: bool = False
    """Whether its trial was deleted."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Someone: a user by session or by access token, a task by its token (then with its owner's name, and never an
    administrator), or a monitoring system by the metrics token."""

    user_id: int
    username: str
    admin: bool = False
    task: TaskClaims | None = None
    session_id: int | None = None
    token_id: int | None = None
    """The access token that the user signs in with, where it is one."""
    monitor: bool = False
    """Whether this is a monitoring system: it is no user, and is let in only where a route names it."""

    @property
    def actor(self) -> str:
        """What the log calls whoever acts."""
        return self.username if self.token_id is None else f"{self.username} (access token {self.token_id})"

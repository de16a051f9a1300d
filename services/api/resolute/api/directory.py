"""The shell around `identity`: decisions on users, workspaces and projects, appended to the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from resolute.api import identity
from resolute.api.identity import Users, Workspaces
from resolute.eventlog import Appended, EventLog
from resolute.proto import streams
from resolute.proto.identity import (
    ProjectCreated,
    SessionClosed,
    SessionOpened,
    UserCreated,
    WorkspaceCreated,
)
from resolute.proto.message import Cause, Event
from resolute.service import Aggregates

SEED = Cause("seed", actor="system", correlation_id="seed")


class Directory:
    def __init__(self, log: EventLog) -> None:
        self._users: Aggregates[Users] = Aggregates(log, Users, identity.evolve_users)
        self._workspaces: Aggregates[Workspaces] = Aggregates(log, Workspaces, identity.evolve_workspaces)
        self._sessions: Aggregates[int] = Aggregates(log, int, lambda count, event: count + 1, keep=100)

    async def seed(self) -> int:
        """Make the users `admin` and `determined` and the first workspace and project, unless they were made before.

        Returns the position at which they stand in the log.
        """
        users = await self._users.execute(
            streams.USER_DIRECTORY,
            lambda state: (
                []
                if state.by_id
                else [
                    UserCreated(1, "admin", admin=True, active=True),
                    UserCreated(2, "determined", admin=False, active=True),
                ]
            ),
            SEED,
        )
        workspaces = await self._workspaces.execute(
            streams.WORKSPACE_DIRECTORY,
            lambda state: (
                []
                if state.names
                else [
                    WorkspaceCreated(1, "Uncategorized", owner_id=1, immutable=True),
                    ProjectCreated(1, 1, "Uncategorized", "", owner_id=1, immutable=True),
                ]
            ),
            SEED,
        )
        return max(users.position, workspaces.position)

    async def users(self) -> Users:
        return await self._users.state(streams.USER_DIRECTORY)

    async def create_user(self, username: str, cause: Cause, **fields: Any) -> tuple[int, int]:
        """The new user's id, and the position at which it stands."""
        appended = await self._on_users(lambda users: identity.create_user(users, username, **fields), cause)
        event = appended.events[0].event
        assert isinstance(event, UserCreated)
        return event.user_id, appended.position

    async def change_user(self, user_id: int, changes: Mapping[str, Any], cause: Cause) -> int:
        return (await self._on_users(lambda users: identity.change_user(users, user_id, changes), cause)).position

    async def change_password(self, user_id: int, *, blank: bool, cause: Cause) -> int:
        appended = await self._on_users(lambda users: identity.change_password(users, user_id, blank=blank), cause)
        return appended.position

    async def _on_users(self, decide: Callable[[Users], Sequence[Event]], cause: Cause) -> Appended:
        return await self._users.execute(streams.USER_DIRECTORY, decide, cause)

    async def session_opened(self, user_id: int, session_id: int, expires_at: datetime, cause: Cause) -> int:
        return await self._on_session(user_id, SessionOpened(user_id, session_id, expires_at), cause)

    async def session_closed(self, user_id: int, session_id: int, cause: Cause) -> int:
        return await self._on_session(user_id, SessionClosed(user_id, session_id), cause)

    async def _on_session(self, user_id: int, event: Event, cause: Cause) -> int:
        return (await self._sessions.execute(streams.USER.stream(user_id), lambda _: [event], cause)).position

    async def create_workspace(
        self, name: str, owner_id: int, settings: Mapping[str, Any], cause: Cause
    ) -> tuple[int, int]:
        appended = await self._workspaces.execute(
            streams.WORKSPACE_DIRECTORY, lambda state: identity.create_workspace(state, name, owner_id, settings), cause
        )
        event = appended.events[0].event
        assert isinstance(event, WorkspaceCreated)
        return event.workspace_id, appended.position

    async def change_workspace(self, workspace_id: int, changes: Mapping[str, Any], cause: Cause) -> int:
        appended = await self._workspaces.execute(
            streams.WORKSPACE_DIRECTORY, lambda state: identity.change_workspace(state, workspace_id, changes), cause
        )
        return appended.position

    async def create_project(
        self, workspace_id: int, name: str, description: str, owner_id: int, cause: Cause
    ) -> tuple[int, int]:
        appended = await self._workspaces.execute(
            streams.WORKSPACE_DIRECTORY,
            lambda state: identity.create_project(state, workspace_id, name, description, owner_id),
            cause,
        )
        event = appended.events[0].event
        assert isinstance(event, ProjectCreated)
        return event.project_id, appended.position

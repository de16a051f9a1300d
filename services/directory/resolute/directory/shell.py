"""The shell of the directory: it handles commands and appends decisions."""

from __future__ import annotations

import asyncio

from resolute.directory import sessions, user_settings, users, workspaces
from resolute.directory.sessions import Sessions
from resolute.directory.user_settings import Settings
from resolute.directory.users import Users
from resolute.directory.workspaces import Workspaces
from resolute.eventlog import Appended, EventLog
from resolute.proto import streams
from resolute.proto.errors import NotFound, Unavailable
from resolute.proto.identity import (
    ActivateUsers,
    ChangePassword,
    ChangeUser,
    ChangeUserSettings,
    ChangeWorkspace,
    CloseSessions,
    CreateProject,
    CreateUser,
    CreateWorkspace,
    OpenSession,
    ProjectCreated,
    ResetUserSettings,
    UserCreated,
    WorkspaceCreated,
)
from resolute.proto.message import Cause, Command, Event, Object, Reply
from resolute.service import Aggregates, Context, Patience, serve_commands

NAME = "directory"

SEED = Cause("seed", actor="system", correlation_id="seed")

USERS_KEPT = 100
"""Of so many users the sessions and the settings stay folded; of others they are read from the log when they are asked
for."""


async def serve(context: Context) -> None:
    """Serve until cancelled. Replicas may run beside this one."""
    directory = Directory(context.log)
    await _seeded(directory)
    subscription = await serve_commands(context, NAME, directory.handle)
    try:
        context.on_ready(NAME)
        await asyncio.Event().wait()
    finally:
        await subscription.close()


async def _seeded(directory: Directory) -> None:
    patience = Patience()
    while True:
        try:
            return await directory.seed()
        except Unavailable as error:
            await patience.wait(NAME, error)


class Directory:
    def __init__(self, log: EventLog) -> None:
        self._users = Aggregates(log, Users, users.evolve)
        self._sessions = Aggregates(log, Sessions, sessions.evolve, keep=USERS_KEPT)
        self._settings = Aggregates(log, Settings, user_settings.evolve, keep=USERS_KEPT)
        self._workspaces = Aggregates(log, Workspaces, workspaces.evolve)

    async def seed(self) -> None:
        """Make the first users and the first workspace with its project, unless they were made before."""
        await self._users.execute(streams.USER_DIRECTORY, users.seed, SEED)
        await self._workspaces.execute(streams.WORKSPACE_DIRECTORY, workspaces.seed, SEED)

    async def handle(self, command: Command, cause: Cause) -> Reply:
        """Raises InvalidConfig, NotFound and Refused, as the decisions do."""
        match command:
            case ActivateUsers():
                return await self._activate(command, cause)
            case ChangePassword():
                return await self._change_password(command, cause)
            case CreateUser() | ChangeUser():
                return _reply(
                    await self._users.execute(streams.USER_DIRECTORY, lambda found: users.decide(command, found), cause)
                )
            case OpenSession() | CloseSessions():
                return _reply(await self._on_sessions(command, cause))
            case ChangeUserSettings() | ResetUserSettings():
                stream = streams.SETTINGS.stream(command.user_id)
                return _reply(
                    await self._settings.execute(stream, lambda found: user_settings.decide(command, found), cause)
                )
            case CreateWorkspace() | ChangeWorkspace() | CreateProject():
                return _reply(
                    await self._workspaces.execute(
                        streams.WORKSPACE_DIRECTORY, lambda found: workspaces.decide(command, found), cause
                    )
                )
        raise NotFound(f"the directory does not decide {type(command).__name__}")

    async def _activate(self, command: ActivateUsers, cause: Cause) -> Reply:
        refused: dict[int, str] = {}

        def decide(found: Users) -> list[Event]:
            nonlocal refused
            events, refused = users.activate(command, found)
            return events

        outcome = await self._users.execute(streams.USER_DIRECTORY, decide, cause)
        return Reply(outcome.position, {"refused": {str(user_id): why for user_id, why in refused.items()}})

    async def _change_password(self, command: ChangePassword, cause: Cause) -> Reply:
        """The sessions first: the same command comes again when this process dies in between."""
        closed = await self._on_sessions(command, cause.then("sessions"))
        changed = await self._users.execute(streams.USER_DIRECTORY, lambda found: users.decide(command, found), cause)
        return Reply(max(closed.position, changed.position))

    async def _on_sessions(self, command: sessions.SessionCommand, cause: Cause) -> Appended:
        stream = streams.USER.stream(command.user_id)
        return await self._sessions.execute(stream, lambda found: sessions.decide(command, found), cause)


def _reply(outcome: Appended) -> Reply:
    return Reply(outcome.position, _made(outcome.events[0].event) if outcome.events else {})


def _made(event: Event) -> Object:
    """The id of what was created, for the caller who asked for it."""
    match event:
        case UserCreated(user_id=user_id):
            return {"user_id": user_id}
        case WorkspaceCreated(workspace_id=workspace_id):
            return {"workspace_id": workspace_id}
        case ProjectCreated(project_id=project_id):
            return {"project_id": project_id}
    return {}

"""The shell of the directory: it handles commands and appends decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from resolute.directory import (
    access_tokens,
    cluster_message,
    logging_changes,
    models,
    policies,
    pool_bindings,
    rbac,
    sessions,
    templates,
    user_settings,
    users,
    visits,
    workspaces,
)
from resolute.directory.deletion import Deletion
from resolute.directory.models import Models
from resolute.directory.part import Part
from resolute.directory.settings import DirectorySettings
from resolute.directory.spaces import Workspaces
from resolute.directory.users import Users
from resolute.directory.webhooks import registered as webhooks
from resolute.directory.webhooks.shell import WebhookShell
from resolute.eventlog import Appended, EventLog
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, Unavailable
from resolute.proto.identity import ActivateUsers, ChangePassword, CreateWorkspace
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.rbac import AssignRoles
from resolute.proto.spaces import DeleteWorkspace
from resolute.service import Aggregates, Context, Follower, Patience, Reactions, serve_commands

NAME = "directory"

SEED = Cause("seed", actor="system", correlation_id="seed")

PARTS: tuple[Part[Any], ...] = (
    users.PART,
    sessions.PART,
    user_settings.PART,
    visits.PART,
    workspaces.PART,
    models.PART,
    webhooks.PART,
    templates.PART,
    policies.PART,
    rbac.PART,
    cluster_message.PART,
    logging_changes.PART,
    access_tokens.PART,
    pool_bindings.PART,
)
"""All that the directory decides about."""


async def serve(context: Context, settings: DirectorySettings | None = None) -> None:
    """Serve until cancelled. Replicas may run beside this one."""
    directory = Directory(context.log)
    hooks = WebhookShell(context, (settings or DirectorySettings()).webhooks, directory.handle)
    await _seeded(directory)
    deletion = Deletion(context.log, context.bus, directory)
    reactions = Reactions(NAME, context.log, deletion.react, attempt_lock=context.attempt_lock)
    subscription = await serve_commands(context, NAME, hooks.handle)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Follower(reactions, context.log, context.bus).run())
            tasks.create_task(hooks.run())
            context.on_ready(NAME)
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
    def __init__(self, log: EventLog, parts: Sequence[Part[Any]] = PARTS) -> None:
        self._parts = {command: part for part in parts for command in part.commands}
        self._states = {part: Aggregates(log, part.initial, part.evolve, keep=part.keep) for part in parts}

    async def seed(self) -> None:
        """Make the first users and the first workspace with its project, unless they were made before."""
        for part, states in self._states.items():
            if part.seed is not None:
                await states.execute(part.seed.stream, part.seed.decide, SEED)

    async def handle(self, command: Command, cause: Cause) -> Reply:
        """Raises InvalidConfig, NotFound and Refused, as the decisions do."""
        match command:
            case ActivateUsers():
                return await self._activate(command, cause)
            case ChangePassword():
                return await self._change_password(command, cause)
            case CreateWorkspace(owner_id=owner_id, creators_role=int(role_id)):
                return await self._create_workspace(command, rbac.creators(owner_id, role_id), cause)
            case DeleteWorkspace(workspace_id=workspace_id):
                if await self.models_in(workspace_id):
                    raise InvalidConfig(workspaces.has_models(workspace_id))
        if (part := self._parts.get(type(command))) is None:
            raise NotFound(f"the directory does not decide {type(command).__name__}")
        outcome = await self._decided(part, command, cause)
        made = part.made(outcome.events[0].event) if outcome.events else {}
        return Reply(outcome.position, made)

    async def spaces(self) -> Workspaces:
        """All workspaces and projects, for reading only."""
        found: Workspaces = await self._states[workspaces.PART].state(streams.WORKSPACE_DIRECTORY)
        return found

    async def about_spaces(self, decide: Callable[[Workspaces], Sequence[Event]], cause: Cause) -> None:
        """Append what a reaction decides about workspaces and projects."""
        await self._states[workspaces.PART].execute(streams.WORKSPACE_DIRECTORY, decide, cause)

    async def models_in(self, workspace_id: int) -> int:
        """How many models are in a workspace."""
        found: Models = await self._states[models.PART].state(streams.MODEL_DIRECTORY)
        return sum(model.fields["workspace_id"] == workspace_id for model in found.by_id.values())

    async def remove_contents(self, workspace_id: int, cause: Cause) -> None:
        """Remove what the parts keep of a workspace that is being deleted."""
        for part in self._states:
            if part.of_workspace is not None:
                await self._decided(part, part.of_workspace(workspace_id), cause.then("of workspace"))

    async def _decided(self, part: Part[Any], command: Command, cause: Cause) -> Appended:
        return await self._states[part].execute(
            part.stream_of(command), lambda state: part.decide(command, state), cause
        )

    async def _activate(self, command: ActivateUsers, cause: Cause) -> Reply:
        refused: dict[int, str] = {}

        def decide(found: Users) -> list[Event]:
            nonlocal refused
            events, refused = users.activate(command, found)
            return events

        outcome = await self._states[users.PART].execute(users.PART.stream_of(command), decide, cause)
        return Reply(outcome.position, {"refused": {str(user_id): why for user_id, why in refused.items()}})

    async def _create_workspace(
        self, command: CreateWorkspace, role: Callable[[int], AssignRoles], cause: Cause
    ) -> Reply:
        """Then the role of the user who creates it: the same command comes again when this process dies in between."""
        created = await self._decided(workspaces.PART, command, cause)
        made = workspaces.PART.made(created.events[0].event)
        assigned = await self._decided(rbac.PART, role(made["workspace_id"]), cause.then("role"))
        return Reply(max(created.position, assigned.position), made)

    async def _change_password(self, command: ChangePassword, cause: Cause) -> Reply:
        """The sessions first: the same command comes again when this process dies in between."""
        closed = await self._decided(sessions.PART, command, cause.then("sessions"))
        changed = await self._decided(users.PART, command, cause)
        return Reply(max(closed.position, changed.position))

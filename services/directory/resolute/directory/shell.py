"""The shell of the directory: it handles commands and appends decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from resolute.directory import models, sessions, user_settings, users, workspaces
from resolute.directory.part import Part
from resolute.directory.users import Users
from resolute.eventlog import Appended, EventLog
from resolute.proto.errors import NotFound, Unavailable
from resolute.proto.identity import ActivateUsers, ChangePassword
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.service import Aggregates, Context, Patience, serve_commands

NAME = "directory"

SEED = Cause("seed", actor="system", correlation_id="seed")

PARTS: tuple[Part[Any], ...] = (users.PART, sessions.PART, user_settings.PART, workspaces.PART, models.PART)
"""All that the directory decides about."""


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
        if (part := self._parts.get(type(command))) is None:
            raise NotFound(f"the directory does not decide {type(command).__name__}")
        outcome = await self._decided(part, command, cause)
        made = part.made(outcome.events[0].event) if outcome.events else {}
        return Reply(outcome.position, made)

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

    async def _change_password(self, command: ChangePassword, cause: Cause) -> Reply:
        """The sessions first: the same command comes again when this process dies in between."""
        closed = await self._decided(sessions.PART, command, cause.then("sessions"))
        changed = await self._decided(users.PART, command, cause)
        return Reply(max(closed.position, changed.position))

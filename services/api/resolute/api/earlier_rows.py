"""Carries over what an earlier release kept in tables of its own: settings of users, and metadata of trials.

Such a release recorded no changes of them in the log. A gateway of it may still write its tables while a cluster is
upgraded, so each gateway looks again once a minute. A row is marked when the log has it, and is never deleted: the
earlier release goes on reading it. The service that decides leaves alone what was changed since.
"""

from __future__ import annotations

import uuid

import asyncpg
import orjson
import structlog

from resolute.api.database import outages
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.trials.lookup_queries import TrialLookups, TrialRef
from resolute.bus import Bus
from resolute.proto.errors import Failed, NotFound, ResoluteError, Unavailable
from resolute.proto.experiment import ChangeTrialMetadata
from resolute.proto.identity import ChangeUserSettings, UserSetting
from resolute.proto.message import Cause, Command

log_ = structlog.get_logger()

ACTOR = "upgrade"
"""Whom the history names: the table does not say who it was."""

PAGE = 20
"""Rows that are read at a time; each may have a value of a megabyte."""

SETTINGS = """SELECT user_id, key, storage_path, value FROM api.user_settings
WHERE NOT carried_over AND (user_id, key, storage_path) > ($1, $2, $3)
ORDER BY user_id, key, storage_path LIMIT $4"""

SETTING_CARRIED = """UPDATE api.user_settings SET carried_over = true
WHERE user_id = $1 AND key = $2 AND storage_path = $3 AND value = $4"""

SETTINGS_FORGOTTEN = "UPDATE api.user_settings SET carried_over = true WHERE user_id = $1 AND NOT carried_over"

METADATA = """SELECT trial_id, metadata FROM measures.trial_notes
WHERE metadata IS NOT NULL AND NOT metadata_carried_over AND trial_id > $1
ORDER BY trial_id LIMIT $2"""

METADATA_CARRIED = """UPDATE measures.trial_notes SET metadata_carried_over = true
WHERE trial_id = $1 AND metadata = $2"""


class EarlierRows:
    def __init__(self, pool: asyncpg.Pool, read: ReadModel, trials: TrialLookups, bus: Bus) -> None:
        self._pool, self._read, self._trials, self._bus = pool, read, trials, bus

    async def carry_over(self) -> None:
        """Raises Unavailable and Failed; what was not carried over then is by the next call."""
        await self._carry_settings()
        await self._carry_metadata()

    async def forget_settings(self, user_id: int) -> None:
        """The user has reset them."""
        with outages():
            await self._pool.execute(SETTINGS_FORGOTTEN, user_id)

    async def _carry_settings(self) -> None:
        after: tuple[int, str, str] = (-1, "", "")
        while rows := await self._read.rows(SETTINGS, *after, PAGE):
            for user_id, key, storage_path, value in rows:
                setting = UserSetting(key, storage_path, value)  # a value alone may be as large as a message can be
                change = ChangeUserSettings(user_id, (setting,), carried_over=True)
                if await self._recorded(change, f"setting {key} of user {user_id}"):
                    with outages():
                        await self._pool.execute(SETTING_CARRIED, user_id, key, storage_path, value)
            after = (rows[-1]["user_id"], rows[-1]["key"], rows[-1]["storage_path"])

    async def _carry_metadata(self) -> None:
        after = -1
        while rows := await self._read.rows(METADATA, after, PAGE):
            for trial_id, metadata in rows:
                if (trial := await self._trials.trial(trial_id)) is not None:
                    await self._carry_metadata_of(trial, metadata)
            after = rows[-1]["trial_id"]

    async def _carry_metadata_of(self, trial: TrialRef, metadata: str) -> None:
        change = ChangeTrialMetadata(trial.experiment_id, trial.trial_id, orjson.loads(metadata), carried_over=True)
        if await self._recorded(change, f"metadata of trial {trial.trial_id}"):
            with outages():
                await self._pool.execute(METADATA_CARRIED, trial.trial_id, metadata)

    async def _recorded(self, command: Command, row: str) -> bool:
        """Whether the log has it, or the experiment is gone. `row` names it in the gateway's log, without the value."""
        request_id = f"req-{uuid.uuid4()}"
        try:
            reply = await self._bus.request(command, Cause(request_id, ACTOR, request_id))
        except (Unavailable, Failed):
            raise
        except NotFound:  # its experiment was deleted meanwhile
            return True
        except ResoluteError as error:  # such as a value that is larger than a message can be: it stays where it is
            log_.warning("a row of an earlier release stays in its table", row=row, why=error.message)
            return False
        await self._read.reached(reply.position)
        return True

"""The secrets of a task's configuration, for the agent that starts it.

A task's configuration travels sealed, up to the agent. The agent shows the token that came with the order to start the
task, and is answered with what that task's own configuration holds and no more, in a box that only this agent can open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from resolute.api.experiments.submission_queries import SubmissionQueries
from resolute.api.interactive.queries import InteractiveQueries
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.routing import TaskClaims
from resolute.api.task_tokens import TaskTokens
from resolute.api.vault import Vault
from resolute.config import secrets_of
from resolute.proto.errors import Forbidden, InvalidConfig, Refused
from resolute.proto.pool import OpenSecrets, SecretsOpened
from resolute.service.sealing import CannotOpen, boxed, key_of


class AgentSecrets:
    def __init__(
        self,
        read: ReadModel,
        queries: SubmissionQueries,
        interactive: InteractiveQueries,
        tokens: TaskTokens,
        vault: Vault,
    ) -> None:
        self._read, self._queries, self._interactive = read, queries, interactive
        self._tokens, self._vault = tokens, vault

    async def open(self, question: OpenSecrets) -> SecretsOpened:
        """Raises Forbidden for a token that opens nothing, Refused where the keys were forgotten."""
        principal = await self._tokens.principal(question.token)
        task = principal.task if principal is not None else None
        if task is None or task.given_up or task.deleted:
            raise Forbidden("no secrets: the token is not that of a task which shall run")
        values = await self._secrets(task)
        try:
            sender, box = boxed(question.public_key, values, question.token)
        except CannotOpen as error:
            raise InvalidConfig(f"public_key: {error}") from error
        return SecretsOpened(sender, box)

    async def _secrets(self, task: TaskClaims) -> dict[str, Any]:
        """What stands behind each sealed value of the configuration of the task's experiment, or of its own."""
        await self._read.catch_up()  # an experiment that was continued a moment ago has further ones
        config = await self._config(task)
        sealed = [(place, value) for place, value in secrets_of(config) if key_of(value) is not None]
        keys = await self._vault.keys(value for _, value in sealed)
        if keys.forgotten:
            raise Refused(
                f"the secrets of {_named(task)} were forgotten (`resolute secrets forget`), and it cannot start; "
                "submit it again, with its secrets"
            )
        return {value: keys.opened(place, value) for place, value in sealed}

    async def _config(self, task: TaskClaims) -> Mapping[str, Any]:
        if task.experiment_id is None:
            return await self._interactive.config(task.task_id) or {}
        submitted = await self._queries.submitted(task.experiment_id)
        return {} if submitted is None else orjson.loads(submitted.config)


def _named(task: TaskClaims) -> str:
    return f"task {task.task_id}" if task.experiment_id is None else f"experiment {task.experiment_id}"

"""The secrets of a task's configuration, for the agent that starts it.

A task's configuration travels sealed, up to the agent. The agent shows the token that came with the order to start the
task, and is answered with what that task's own configuration holds and no more, in a box that only this agent can open.
"""

from __future__ import annotations

from typing import Any

import orjson

from resolute.api.experiments.submission_queries import SubmissionQueries
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.task_tokens import TaskTokens
from resolute.api.vault import Vault
from resolute.config import secrets_of
from resolute.proto.errors import Forbidden, InvalidConfig, Refused
from resolute.proto.pool import OpenSecrets, SecretsOpened
from resolute.service.sealing import CannotOpen, boxed, key_of


class AgentSecrets:
    def __init__(self, read: ReadModel, queries: SubmissionQueries, tokens: TaskTokens, vault: Vault) -> None:
        self._read, self._queries, self._tokens, self._vault = read, queries, tokens, vault

    async def open(self, question: OpenSecrets) -> SecretsOpened:
        """Raises Forbidden for a token that opens nothing, Refused where the keys were forgotten."""
        principal = await self._tokens.principal(question.token)
        task = principal.task if principal is not None else None
        if task is None or task.experiment_id is None or task.given_up or task.deleted:
            raise Forbidden("no secrets: the token is not that of a trial which shall run")
        values = await self._secrets(task.experiment_id)
        try:
            sender, box = boxed(question.public_key, values, question.token)
        except CannotOpen as error:
            raise InvalidConfig(f"public_key: {error}") from error
        return SecretsOpened(sender, box)

    async def _secrets(self, experiment_id: int) -> dict[str, Any]:
        """What stands behind each sealed value of the experiment's configuration."""
        await self._read.catch_up()  # an experiment that was continued a moment ago has further ones
        submitted = await self._queries.submitted(experiment_id)
        config = {} if submitted is None else orjson.loads(submitted.config)
        sealed = [(place, value) for place, value in secrets_of(config) if key_of(value) is not None]
        keys = await self._vault.keys(value for _, value in sealed)
        if keys.forgotten:
            raise Refused(
                f"the secrets of experiment {experiment_id} were forgotten (`resolute secrets forget`), and no trial "
                "of it can start; submit it again, with its secrets"
            )
        return {value: keys.opened(place, value) for place, value in sealed}

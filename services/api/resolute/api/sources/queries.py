"""What can be asked about the use of checkpoints: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from resolute.api.experiments.projection import WORKSPACE_OF_EXPERIMENT
from resolute.api.kernel.listing import Where
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope


class SourceQueries(Protocol):
    """Trials are those within the scope, the newest first, up to `most`. `use`: any, where it is empty."""

    async def of_checkpoint(self, scope: Scope, uuid: str, use: str, most: int) -> Sequence[int]:
        """The trials that use the checkpoint."""

    async def of_version(self, scope: Scope, model_id: int, version: int, use: str, most: int) -> Sequence[int]:
        """The trials that use its checkpoint as this version of the model."""


TRIALS = "SELECT DISTINCT u.trial_id FROM read_sources.uses u"


class PostgresSources:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def of_checkpoint(self, scope: Scope, uuid: str, use: str, most: int) -> Sequence[int]:
        where = _within(scope, use)
        where.add("u.checkpoint = ?", uuid)
        return await self._trials(where, most)

    async def of_version(self, scope: Scope, model_id: int, version: int, use: str, most: int) -> Sequence[int]:
        where = _within(scope, use)
        where.add("u.model_id = ?", model_id)
        where.add("u.model_version = ?", version)
        return await self._trials(where, most)

    async def _trials(self, where: Where, most: int) -> Sequence[int]:
        rows = await self._tables.rows(f"{TRIALS}{where.sql} ORDER BY u.trial_id DESC LIMIT {most}", *where.args)
        return [row["trial_id"] for row in rows]


def _within(scope: Scope, use: str) -> Where:
    where = Where(scope, WORKSPACE_OF_EXPERIMENT.format("u.by"))
    if use:
        where.add("u.use = ?", use)
    return where


QUERIES: Port[SourceQueries] = Port(PostgresSources)

"""What access and other slices ask about one checkpoint: whose it is, and who began from it. The port, and Postgres
behind it."""

from __future__ import annotations

from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


class CheckpointLookups(Protocol):
    async def experiment_of(self, uuid: str) -> int | None:
        """The experiment that the checkpoint belongs to; None for a checkpoint that does not exist."""

    async def begun_from(self, uuid: str) -> frozenset[int]:
        """The experiments with trials that began from the checkpoint."""


EXPERIMENT_OF = "SELECT experiment_id FROM read_checkpoints.checkpoints WHERE uuid = $1"

BEGUN_FROM = "SELECT DISTINCT experiment_id FROM read_trials.trials WHERE warm_start = $1"


class PostgresCheckpointLookups:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def experiment_of(self, uuid: str) -> int | None:
        found: int | None = await self._tables.value(EXPERIMENT_OF, uuid)
        return found

    async def begun_from(self, uuid: str) -> frozenset[int]:
        return frozenset(row["experiment_id"] for row in await self._tables.rows(BEGUN_FROM, uuid))


LOOKUPS: Port[CheckpointLookups] = Port(PostgresCheckpointLookups)

"""What can be asked about the code of experiments: the port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class Submitted:
    """What an experiment was submitted with."""

    experiment_id: int
    name: str
    """Of the experiment."""
    archive: str | None
    """The address of the archive with the code; None for an experiment that was submitted without code."""


class ModelDefinitionQueries(Protocol):
    async def submitted(self, experiment_id: int) -> Submitted | None: ...


SUBMITTED = """SELECT id AS experiment_id, name, model_definition AS archive FROM read_experiments.experiments
WHERE id = $1"""


class PostgresModelDefinitions:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def submitted(self, experiment_id: int) -> Submitted | None:
        row = await self._tables.row(SUBMITTED, experiment_id)
        return None if row is None else Submitted(**row)


QUERIES: Port[ModelDefinitionQueries] = Port(PostgresModelDefinitions)

"""What the gateway asks about the allocation that a task's token names. The port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class BearerRow:
    """The allocation whose task bears the token."""

    task_id: str
    trial_id: int | None
    experiment_id: int | None
    owner: str
    owner_id: int
    """0 for an owner who is no user."""
    ended_at: datetime | None
    why: str
    """Why it is in its state."""
    given_up: bool
    """Whether it has ended, and nobody saw all its containers end: one of them may run on."""
    newer_run: int | None
    """The number of the run of its trial that followed; None while there is none."""
    deleted: bool
    """Whether its trial was deleted."""


class TokenQueries(Protocol):
    async def bearer(self, allocation_id: str) -> BearerRow | None: ...


# The agents report the exit code of each container that they saw end.
BEARER = """SELECT a.task_id, a.trial_id, a.experiment_id, a.owner, coalesce(u.id, 0) AS owner_id, a.ended_at, a.why,
    a.ended_at IS NOT NULL AND EXISTS (SELECT FROM read_tasks.placements p
        WHERE p.allocation_id = a.allocation_id AND p.exit_code IS NULL) AS given_up,
    CASE WHEN t.run_id > r.run_id THEN t.run_id END AS newer_run,
    a.trial_id IS NOT NULL AND t.id IS NULL AS deleted
FROM read_tasks.allocations a LEFT JOIN read_identity.users u ON u.username = a.owner
LEFT JOIN read_trials.trials t ON t.id = a.trial_id
LEFT JOIN read_trials.runs r ON r.trial_id = a.trial_id AND r.allocation_id = a.allocation_id
WHERE a.allocation_id = $1"""


class PostgresTokenQueries:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def bearer(self, allocation_id: str) -> BearerRow | None:
        row = await self._tables.row(BEARER, allocation_id)
        return None if row is None else BearerRow(**row)


TOKENS: Port[TokenQueries] = Port(PostgresTokenQueries)

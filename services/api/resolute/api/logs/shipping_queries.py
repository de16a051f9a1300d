"""What the gateway asks about the runs whose lines arrive: where they were placed, and their log policies. The port,
and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class ShareRow:
    """The share of an allocation that was placed on one agent."""

    agent_id: str
    resources_id: str
    allocation_id: str
    task_id: str
    experiment_id: int | None
    given_up_at: datetime | None
    """When the allocation ended, where no agent reported that the containers of this share ended."""
    deleted: bool
    """Whether its trial was deleted."""


@dataclass(frozen=True, slots=True)
class PoliciesRow:
    """A run of a trial, and the log policies of its experiment."""

    experiment_id: int
    trial_id: int
    run_id: int
    policies: Sequence[Mapping[str, Any]]
    """As the configuration has them."""


class ShippingQueries(Protocol):
    async def shares(self, resources_ids: Collection[str]) -> Sequence[ShareRow]:
        """Those of these shares that were placed, in no particular order."""

    async def policies(self, allocation_id: str, task_id: str) -> PoliciesRow | None:
        """None where no run of a trial has this allocation and this task."""


SHARES = """SELECT p.agent_id, p.resources_id, p.allocation_id, a.task_id, a.experiment_id,
    CASE WHEN p.exit_code IS NULL THEN a.ended_at END AS given_up_at, a.trial_id IS NOT NULL AND t.id IS NULL AS deleted
FROM read_tasks.placements p JOIN read_tasks.allocations a USING (allocation_id)
LEFT JOIN read_trials.trials t ON t.id = a.trial_id
WHERE p.resources_id = ANY($1::text[])"""

POLICIES = """SELECT t.experiment_id, r.trial_id, r.run_id, f.config -> 'log_policies' AS policies
FROM read_trials.runs r JOIN read_trials.trials t ON t.id = r.trial_id
JOIN read_experiments.experiment_configs f ON f.experiment_id = t.experiment_id
WHERE r.allocation_id = $1 AND t.task_id = $2"""


class PostgresShipping:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def shares(self, resources_ids: Collection[str]) -> Sequence[ShareRow]:
        return [ShareRow(**row) for row in await self._tables.rows(SHARES, list(resources_ids))]

    async def policies(self, allocation_id: str, task_id: str) -> PoliciesRow | None:
        row = await self._tables.row(POLICIES, allocation_id, task_id)
        return None if row is None else PoliciesRow(**{**row, "policies": orjson.loads(row["policies"] or "[]") or []})


SHIPPING: Port[ShippingQueries] = Port(PostgresShipping)

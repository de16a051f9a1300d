"""States that no right decision leads to, such as a slot that two allocations hold. The port, and Postgres behind it.

What is looked for is never true for a moment either: each is ruled out by events of one append, or by two that are
written in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables
from resolute.api.shown_states import ShareState


class AuditQueries(Protocol):
    async def impossible(self) -> Sequence[str]:
        """A sentence for each such state, in alphabetical order; none where all is well."""


LIVE = f"""read_tasks.placements p JOIN read_tasks.allocations l USING (allocation_id)
WHERE p.state <> '{ShareState.EXITED}' AND l.ended_at IS NULL"""

IN_TWO_POOLS = """SELECT format('agent %s is in several pools at once: %s', agent_id,
    string_agg(pool, ', ' ORDER BY pool COLLATE "C")) AS found
FROM read_pools.agents WHERE alive GROUP BY agent_id HAVING count(*) > 1"""

ON_NO_AGENT = f"""SELECT format('%s runs on agent %s, which is not in its pool %s', l.allocation_id, p.agent_id, l.pool)
    AS found
FROM {LIVE} AND NOT EXISTS (
    SELECT FROM read_pools.agents a WHERE a.agent_id = p.agent_id AND a.pool = l.pool AND a.alive)"""

HELD_TWICE = f"""SELECT format('slot %s of agent %s is held by several at once: %s', slot_id, agent_id,
    string_agg(allocation_id, ', ' ORDER BY allocation_id COLLATE "C")) AS found
FROM (SELECT p.agent_id, l.allocation_id, unnest(p.slot_ids) AS slot_id FROM {LIVE}) held
GROUP BY agent_id, slot_id HAVING count(*) > 1"""

OUTLIVED = """SELECT format(
    '%s is %s in pool %s, though its trial %s has ended', l.allocation_id, l.state, l.pool, t.id) AS found
FROM read_tasks.allocations l JOIN read_trials.trials t ON t.id = l.trial_id
WHERE l.ended_at IS NULL AND t.ended_at IS NOT NULL"""

TWO_RUNS = """SELECT format('task %s has several allocations at once: %s', task_id,
    string_agg(allocation_id, ', ' ORDER BY allocation_id COLLATE "C")) AS found
FROM read_tasks.allocations WHERE ended_at IS NULL GROUP BY task_id HAVING count(*) > 1"""

LOOKED_FOR = (IN_TWO_POOLS, ON_NO_AGENT, HELD_TWICE, OUTLIVED, TWO_RUNS)


class PostgresAudit:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def impossible(self) -> Sequence[str]:
        return sorted([row["found"] for statement in LOOKED_FOR for row in await self._tables.rows(statement)])


AUDIT: Port[AuditQueries] = Port(PostgresAudit)

"""Log lines that agents ship over the bus: kept for tasks that were placed on the agent, and for no others.

NATS sees to it that an agent speaks for itself; whether a task is one of its own is known here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from resolute.api.readmodel import ReadModel
from resolute.proto.errors import Forbidden
from resolute.proto.pool import LogBatch, LogLine, LogsStored

REMEMBERED = 10_000

PLACED = """SELECT p.agent_id, p.resources_id, p.allocation_id, a.task_id
FROM read_v1.placements p JOIN read_v1.allocations a USING (allocation_id) WHERE p.resources_id = ANY($1::text[])"""

Share = tuple[str, str, str, str]
"""The agent, and the share of an allocation of a task that was placed on it."""


class AgentLogs:
    def __init__(self, read: ReadModel, store: Callable[[Sequence[LogLine]], Awaitable[None]]) -> None:
        self._read, self._store = read, store
        self._placed: OrderedDict[Share, None] = OrderedDict()
        """Placements that were looked up; they never change."""

    async def store(self, batch: LogBatch) -> LogsStored:
        """Durable when it answers; the agent keeps the lines until then.

        Raises Forbidden, having stored nothing, when a line is of a task that was never placed on its agent.
        """
        await self._check(batch.lines)
        await self._store(batch.lines)
        return LogsStored(count=len(batch.lines))

    async def _check(self, lines: Sequence[LogLine]) -> None:
        unknown = {_share(line) for line in lines} - self._placed.keys()
        if unknown:
            unknown -= await self._look_up(unknown)
        if unknown:  # the agent may be faster than this gateway's read model
            await self._read.catch_up()
            unknown -= await self._look_up(unknown)
        for agent_id, resources_id, _, task_id in sorted(unknown):
            raise Forbidden(f"task {task_id!r} has no share {resources_id!r} on agent {agent_id!r}")

    async def _look_up(self, shares: set[Share]) -> set[Share]:
        rows = await self._read.rows(PLACED, [resources_id for _, resources_id, _, _ in shares])
        found = {(row["agent_id"], row["resources_id"], row["allocation_id"], row["task_id"]) for row in rows} & shares
        self._placed.update(dict.fromkeys(found))
        while len(self._placed) > REMEMBERED:
            self._placed.popitem(last=False)
        return found


def _share(line: LogLine) -> Share:
    return line.agent_id, line.container_id, line.allocation_id, line.task_id

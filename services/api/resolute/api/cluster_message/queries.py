"""What can be asked about the cluster's message: the port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class MessageRow:
    message: str
    start_at: datetime
    end_at: datetime | None
    created_at: datetime

    def is_over(self, now: datetime) -> bool:
        return self.end_at is not None and self.end_at <= now

    def is_active(self, now: datetime) -> bool:
        return self.start_at <= now and not self.is_over(now)


class ClusterMessageQueries(Protocol):
    async def message(self) -> MessageRow | None:
        """The one that was set last, whatever its time; None where it was cleared."""


SELECT = "SELECT message, start_at, end_at, created_at FROM read_cluster_message.messages"


class PostgresClusterMessage:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def message(self) -> MessageRow | None:
        row = await self._tables.row(SELECT)
        return None if row is None else MessageRow(**dict(row))


QUERIES: Port[ClusterMessageQueries] = Port(PostgresClusterMessage)

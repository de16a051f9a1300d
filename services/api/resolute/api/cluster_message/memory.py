"""The twin of the query about the cluster's message: the same answer, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.cluster_message.projection import MESSAGES, THE_ONE
from resolute.api.cluster_message.queries import MessageRow
from resolute.api.kernel.cache import CachedRows


@dataclass(frozen=True)
class MemoryClusterMessage:
    tables: CachedRows

    async def message(self) -> MessageRow | None:
        row = self.tables.get(MESSAGES, THE_ONE)
        return None if row is None else MessageRow(row.message, row.start_at, row.end_at, row.created_at)

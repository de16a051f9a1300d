"""The latest heartbeat of each trial that runs outside of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from resolute.api.database import outages

NOTE = """INSERT INTO measures.heartbeats (trial_id, at) VALUES ($1, $2)
ON CONFLICT (trial_id) DO UPDATE SET at = greatest(heartbeats.at, EXCLUDED.at)"""

LATEST = "SELECT trial_id, at FROM measures.heartbeats WHERE trial_id = ANY($1::bigint[])"


class Heartbeats:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, trial_id: int, at: datetime) -> None:
        with outages():
            await self._pool.execute(NOTE, trial_id, at)

    async def latest(self, trial_ids: Sequence[int]) -> Mapping[int, datetime]:
        """By trial; those that never sent one are missing."""
        with outages():
            rows = await self._pool.fetch(LATEST, list(trial_ids))
        return {row["trial_id"]: row["at"] for row in rows}

"""Which devices the parts of an allocation were given, as the tasks report it."""

from __future__ import annotations

from typing import Protocol

import asyncpg
import orjson

from resolute.api.database import outages

NOTE = """INSERT INTO measures.accelerators
(allocation_id, container_id, task_id, node_name, accelerator_type, uuids) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (allocation_id, container_id) DO UPDATE SET uuids = EXCLUDED.uuids"""


class Report(Protocol):
    """Of one container."""

    @property
    def container_id(self) -> str: ...
    @property
    def task_id(self) -> str: ...
    @property
    def node_name(self) -> str: ...
    @property
    def accelerator_type(self) -> str: ...
    @property
    def accelerator_uuids(self) -> tuple[str, ...]: ...


class AcceleratorStore:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, allocation_id: str, report: Report) -> None:
        """Keep the report; it replaces an earlier one of the same container. Raises Unavailable."""
        uuids = orjson.dumps(report.accelerator_uuids).decode()
        of_task = (report.task_id, report.node_name, report.accelerator_type)
        with outages():
            await self._pool.execute(NOTE, allocation_id, report.container_id, *of_task, uuids)

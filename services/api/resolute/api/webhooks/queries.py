"""What can be asked about webhooks and their deliveries: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.listing import Where
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope


@dataclass(frozen=True, slots=True)
class TriggerRow:
    id: int
    kind: str
    state: str
    regex: str


@dataclass(frozen=True, slots=True)
class WebhookRow:
    id: int
    name: str
    url: str
    """Sealed."""
    form: str
    mode: str
    triggers: tuple[TriggerRow, ...]
    workspace_id: int | None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    delivery_id: str
    trigger_id: int
    event_type: str
    data: Mapping[str, Any]
    state: str
    attempts: int
    status: int | None
    why: str
    happened_at: datetime
    next_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """The run that a line of a log comes from."""

    experiment_id: int
    trial_id: int
    run_id: int


class WebhookQueries(Protocol):
    async def webhooks(self, scope: Scope) -> Sequence[WebhookRow]:
        """Those within the scope, and those of the whole cluster, by id."""

    async def webhook(self, webhook_id: int) -> WebhookRow | None: ...

    async def of_lines(self) -> Sequence[tuple[int, TriggerRow]]:
        """The triggers of all webhooks that wait for a line of a log, each with the webhook's id, by their ids."""

    async def deliveries(self, webhook_id: int, window: Window) -> Listed[DeliveryRow]:
        """The newest first."""

    async def run(self, allocation_id: str, task_id: str) -> RunRow | None: ...


WEBHOOKS = "SELECT id, name, url, form, mode, triggers, workspace_id FROM read_webhooks.webhooks h"

RUN = """SELECT t.experiment_id, r.trial_id, r.run_id
FROM read_trials.runs r JOIN read_trials.trials t ON t.id = r.trial_id
WHERE r.allocation_id = $1 AND t.task_id = $2"""

DELIVERIES = """SELECT delivery_id, trigger_id, event_type, data, state, attempts, status, why, happened_at, next_at,
    ended_at FROM read_webhooks.deliveries WHERE webhook_id = $1 ORDER BY position DESC"""

DELIVERIES_COUNTED = "SELECT count(*) FROM read_webhooks.deliveries WHERE webhook_id = $1"

OF_LINES = f"""{WEBHOOKS} WHERE h.triggers @> '{{"triggers": [{{"kind": "TASK_LOG"}}]}}' ORDER BY h.id"""


class PostgresWebhooks:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def webhooks(self, scope: Scope) -> Sequence[WebhookRow]:
        where = Where(scope, "h.workspace_id")
        rows = list(await self._tables.rows(f"{WEBHOOKS}{where.sql}", *where.args))
        if not scope.is_everything:
            rows += await self._tables.rows(f"{WEBHOOKS} WHERE h.workspace_id IS NULL")
        return sorted(map(_webhook, rows), key=lambda row: row.id)

    async def webhook(self, webhook_id: int) -> WebhookRow | None:
        row = await self._tables.row(f"{WEBHOOKS} WHERE h.id = $1", webhook_id)
        return None if row is None else _webhook(row)

    async def of_lines(self) -> Sequence[tuple[int, TriggerRow]]:
        found = map(_webhook, await self._tables.rows(OF_LINES))
        return [(row.id, one) for row in found for one in row.triggers if one.kind == "TASK_LOG"]

    async def deliveries(self, webhook_id: int, window: Window) -> Listed[DeliveryRow]:
        page = window.of(int(await self._tables.value(DELIVERIES_COUNTED, webhook_id)))
        if page.start == page.end:
            return Listed([], page)
        part = f" OFFSET {page.start} LIMIT {page.end - page.start}"
        rows = await self._tables.rows(f"{DELIVERIES}{part}", webhook_id)
        return Listed([_delivery(row) for row in rows], page)

    async def run(self, allocation_id: str, task_id: str) -> RunRow | None:
        row = await self._tables.row(RUN, allocation_id, task_id)
        return None if row is None else RunRow(row["experiment_id"], row["trial_id"], row["run_id"])


def _webhook(row: asyncpg.Record) -> WebhookRow:
    triggers = orjson.loads(row["triggers"])["triggers"]
    return WebhookRow(
        id=row["id"],
        name=row["name"],
        url=row["url"],
        form=row["form"],
        mode=row["mode"],
        triggers=tuple(TriggerRow(one["id"], one["kind"], one["state"], one["regex"]) for one in triggers),
        workspace_id=row["workspace_id"],
    )


def _delivery(row: asyncpg.Record) -> DeliveryRow:
    return DeliveryRow(
        delivery_id=row["delivery_id"],
        trigger_id=row["trigger_id"],
        event_type=row["event_type"],
        data=orjson.loads(row["data"]),
        state=row["state"],
        attempts=row["attempts"],
        status=row["status"],
        why=row["why"],
        happened_at=row["happened_at"],
        next_at=row["next_at"],
        ended_at=row["ended_at"],
    )


QUERIES: Port[WebhookQueries] = Port(PostgresWebhooks)

"""The twin of the queries about webhooks: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.scope import Scope
from resolute.api.trials.tables import RUNS, TRIALS
from resolute.api.webhooks.projection import DELIVERIES, WEBHOOKS, Delivery, Webhook
from resolute.api.webhooks.queries import DeliveryRow, RunRow, TriggerRow, WebhookRow


@dataclass(frozen=True)
class MemoryWebhooks:
    """`tables`: those of webhooks and trials."""

    tables: CachedRows

    async def webhooks(self, scope: Scope) -> Sequence[WebhookRow]:
        return [row for row in self._all() if row.workspace_id is None or scope.covers(row.workspace_id)]

    async def webhook(self, webhook_id: int) -> WebhookRow | None:
        return next((row for row in self._all() if row.id == webhook_id), None)

    async def of_lines(self) -> Sequence[tuple[int, TriggerRow]]:
        return [(row.id, one) for row in self._all() for one in row.triggers if one.kind == "TASK_LOG"]

    async def deliveries(self, webhook_id: int, window: Window) -> Listed[DeliveryRow]:
        found = [row for row in self.tables.all(DELIVERIES) if row.webhook_id == webhook_id]
        newest = sorted(found, key=lambda row: row.position, reverse=True)
        return cut([_delivery(row) for row in newest], window)

    async def run(self, allocation_id: str, task_id: str) -> RunRow | None:
        trials = {row.id: row.experiment_id for row in self.tables.all(TRIALS) if row.task_id == task_id}
        for run in self.tables.all(RUNS):
            if run.allocation_id == allocation_id and run.trial_id in trials:
                return RunRow(trials[run.trial_id], run.trial_id, run.run_id)
        return None

    def _all(self) -> list[WebhookRow]:
        return sorted(map(_webhook, self.tables.all(WEBHOOKS)), key=lambda row: row.id)


def _webhook(row: Webhook) -> WebhookRow:
    triggers = tuple(TriggerRow(one["id"], one["kind"], one["state"], one["regex"]) for one in row.triggers["triggers"])
    return WebhookRow(row.id, row.name, row.url, row.form, row.mode, triggers, row.workspace_id)


def _delivery(row: Delivery) -> DeliveryRow:
    return DeliveryRow(
        row.delivery_id,
        row.trigger_id,
        row.event_type,
        row.data,
        row.state,
        row.attempts,
        row.status,
        row.why,
        row.happened_at,
        row.next_at,
        row.ended_at,
    )

"""Webhooks and their deliveries: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.api.workspaces.projection import WORKSPACES
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.webhooks import (
    DeliveryDue,
    DeliveryFailed,
    DeliveryGivenUp,
    DeliverySucceeded,
    DeliveryTried,
    WebhookCreated,
    WebhookDeleted,
    WebhookMoved,
)


@dataclass(frozen=True, slots=True)
class Webhook:
    id: int
    name: str
    url: str
    """Sealed."""
    form: str
    mode: str
    triggers: Document
    """`{"triggers": […]}`, each with its id, kind, state and regex."""
    owner_id: int
    workspace_id: int | None


@dataclass(frozen=True, slots=True)
class Delivery:
    delivery_id: str
    webhook_id: int
    trigger_id: int
    event_type: str
    data: Document
    state: str
    """DUE, DELIVERED or GIVEN_UP."""
    attempts: int
    status: int | None
    why: str
    position: int
    """In the log: the newest has the largest."""
    happened_at: datetime
    next_at: datetime | None
    ended_at: datetime | None


WEBHOOKS = Table("webhooks", Webhook, key=("id",))

DELIVERIES = Table("deliveries", Delivery, key=("delivery_id",), lookups=("webhook_id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: WebhookCreated, _: Recorded, rows: Rows) -> None:
    triggers = [
        {"id": one.trigger_id, "kind": one.trigger.kind, "state": one.trigger.state, "regex": one.trigger.regex}
        for one in created.triggers
    ]
    webhook = Webhook(
        id=created.webhook_id,
        name=created.name,
        url=created.url,
        form=created.form,
        mode=created.mode,
        triggers={"triggers": triggers},
        owner_id=created.owner_id,
        workspace_id=created.workspace_id,
    )
    rows.put(WEBHOOKS, webhook)


def _moved(moved: WebhookMoved, _: Recorded, rows: Rows) -> None:
    rows.change(WEBHOOKS, moved.webhook_id, url=moved.url)


def _deleted(deleted: WebhookDeleted, _: Recorded, rows: Rows) -> None:
    for delivery in rows.where(DELIVERIES, "webhook_id", deleted.webhook_id):
        rows.remove(DELIVERIES, delivery.delivery_id)
    rows.remove(WEBHOOKS, deleted.webhook_id)


def _due(due: DeliveryDue, recorded: Recorded, rows: Rows) -> None:
    if rows.get(WEBHOOKS, due.webhook_id) is None:
        return  # it was deleted meanwhile
    delivery = Delivery(
        delivery_id=due.delivery_id,
        webhook_id=due.webhook_id,
        trigger_id=due.trigger_id,
        event_type=due.event_type,
        data=due.data,
        state="DUE",
        attempts=0,
        status=None,
        why="",
        position=recorded.position,
        happened_at=due.happened_at,
        next_at=due.happened_at,
        ended_at=None,
    )
    rows.put(DELIVERIES, delivery)


def _tried(tried: DeliveryTried, _: Recorded, rows: Rows) -> None:
    rows.change(DELIVERIES, tried.delivery_id, attempts=tried.attempt, next_at=tried.until)


def _failed(failed: DeliveryFailed, _: Recorded, rows: Rows) -> None:
    rows.change(DELIVERIES, failed.delivery_id, why=failed.why, next_at=failed.again_at)


def _succeeded(succeeded: DeliverySucceeded, recorded: Recorded, rows: Rows) -> None:
    ended = {"state": "DELIVERED", "status": succeeded.status, "why": ""}
    rows.change(DELIVERIES, succeeded.delivery_id, **ended, next_at=None, ended_at=recorded.recorded_at)


def _given_up(given_up: DeliveryGivenUp, recorded: Recorded, rows: Rows) -> None:
    ended = {"state": "GIVEN_UP", "why": given_up.why}
    rows.change(DELIVERIES, given_up.delivery_id, **ended, next_at=None, ended_at=recorded.recorded_at)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    WebhookCreated: _created,
    WebhookMoved: _moved,
    WebhookDeleted: _deleted,
    DeliveryDue: _due,
    DeliveryTried: _tried,
    DeliveryFailed: _failed,
    DeliverySucceeded: _succeeded,
    DeliveryGivenUp: _given_up,
}


def _whose_webhook(rows: WholeRows, webhook_id: int) -> Place | None:
    webhook = next((row for row in rows.all(WEBHOOKS) if row.id == webhook_id), None)
    if webhook is None:
        return None
    owners = (row.owner_id for row in rows.all(WORKSPACES) if row.id == webhook.workspace_id)
    return Place(next(owners, 0), webhook.workspace_id)


PROJECTION = Projection(
    slice="webhooks",
    version=1,
    tables=(WEBHOOKS, DELIVERIES),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.WEBHOOKS.name, streams.DELIVERIES.name}),
    project=project,
    things={
        # The owner of its workspace; a webhook of the whole cluster has none, so that it is for administrators.
        "webhook": Thing(
            """SELECT coalesce(w.owner_id, 0) AS owner_id, h.workspace_id FROM read_webhooks.webhooks h
            LEFT JOIN read_workspaces.workspaces w ON w.id = h.workspace_id WHERE h.id = $1""",
            numbered=True,
            twin=_whose_webhook,
        ),
    },
)

"""The messages about webhooks and their deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, Pagination
from resolute.api.kernel.fields import JsonObject, Needed, OrAbsent, WireEnum, items, text
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Url = Annotated[str, text(2_000)]
Text = Annotated[str, text(10_000)]


class WebhookType(WireEnum, wire_name="v1WebhookType"):
    UNSPECIFIED = "WEBHOOK_TYPE_UNSPECIFIED"
    DEFAULT = "WEBHOOK_TYPE_DEFAULT"
    SLACK = "WEBHOOK_TYPE_SLACK"


class WebhookMode(WireEnum, wire_name="v1WebhookMode"):
    UNSPECIFIED = "WEBHOOK_MODE_UNSPECIFIED"
    WORKSPACE = "WEBHOOK_MODE_WORKSPACE"
    SPECIFIC = "WEBHOOK_MODE_SPECIFIC"


class TriggerType(WireEnum, wire_name="v1TriggerType"):
    UNSPECIFIED = "TRIGGER_TYPE_UNSPECIFIED"
    STATE_CHANGE = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"
    METRIC_THRESHOLD = "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED"
    TASK_LOG = "TRIGGER_TYPE_TASK_LOG"
    CUSTOM = "TRIGGER_TYPE_CUSTOM"


class Trigger(Input, wire_name="v1Trigger"):
    id: OrAbsent[Id] = None
    """Given by the cluster."""
    trigger_type: TriggerType = TriggerType.UNSPECIFIED
    condition: JsonObject | None = None
    """`{"state": "COMPLETED"}` for a change of state, `{"regex": "…"}` for lines of the log."""
    webhook_id: OrAbsent[Id] = None
    """Given by the cluster."""


class Webhook(Input, wire_name="v1Webhook"):
    id: OrAbsent[Id] = None
    """Given by the cluster."""
    url: Needed[Url] = ""
    """Where requests go. Addresses inside the cluster are refused, but for those that its configuration allows."""
    webhook_type: Needed[WebhookType] = WebhookType.UNSPECIFIED
    """`WEBHOOK_TYPE_UNSPECIFIED` counts as the default type."""
    name: Needed[Name] = ""
    """No two webhooks of a workspace have the same."""
    mode: Needed[WebhookMode] = WebhookMode.UNSPECIFIED
    """`WEBHOOK_MODE_UNSPECIFIED` counts as `WEBHOOK_MODE_WORKSPACE`."""
    triggers: Annotated[tuple[Trigger, ...], items(100)] = ()
    workspace_id: OrAbsent[Id] = None
    """Left out for a webhook of the whole cluster."""


class GetWebhooks(Request):
    pass


class WebhooksAnswer(Message, wire_name="v1GetWebhooksResponse"):
    webhooks: tuple[Webhook, ...]


class PostWebhook(Request):
    body: InBody[Webhook]


class NewWebhookAnswer(Message, wire_name="v1PostWebhookResponse"):
    webhook: Webhook | None


class WebhookChange(Input, wire_name="v1PatchWebhook"):
    url: Needed[Url] = ""


class PatchWebhook(Request):
    id: InPath[Id]
    body: InBody[WebhookChange]


class OneWebhook(Request):
    id: InPath[Id]


class TestAnswer(Message, wire_name="v1TestWebhookResponse"):
    completed: bool


# ---------------------------------------------------------------- alerts


class LogLevel(WireEnum, wire_name="v1LogLevel"):
    UNSPECIFIED = "LOG_LEVEL_UNSPECIFIED"
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class AlertData(Input, wire_name="v1CustomWebhookEventData"):
    title: Text = ""
    description: Text = ""
    level: LogLevel = LogLevel.UNSPECIFIED


class Alert(Input, wire_name="v1PostWebhookEventDataRequest"):
    data: Needed[AlertData | None] = None
    experiment_id: Needed[Id] = 0
    trial_id: OrAbsent[Id] = None


class PostWebhookEventData(Request):
    body: InBody[Alert]


# ---------------------------------------------------------------- deliveries


class DeliveryState(WireEnum, wire_name="WebhookDeliveryState"):
    DUE = "WEBHOOK_DELIVERY_STATE_DUE"
    DELIVERED = "WEBHOOK_DELIVERY_STATE_DELIVERED"
    GIVEN_UP = "WEBHOOK_DELIVERY_STATE_GIVEN_UP"


class Delivery(Message, wire_name="WebhookDelivery"):
    event_id: str
    """The same in every request for this delivery."""
    trigger_id: int
    trigger_type: TriggerType
    state: DeliveryState
    attempts: int
    """Requests that were begun."""
    status: int | None = None
    """Of HTTP, with which the receiver took it."""
    reason: str
    """Why the last attempt failed."""
    event_data: JsonObject | None
    happened_at: datetime
    next_attempt_at: datetime | None = None
    ended_at: datetime | None = None


class GetWebhookDeliveries(Request):
    id: InPath[Id]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0


class DeliveriesAnswer(Message, wire_name="GetWebhookDeliveriesResponse"):
    deliveries: tuple[Delivery, ...]
    """The newest first."""
    pagination: Pagination | None

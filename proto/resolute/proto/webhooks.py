"""Webhooks: addresses outside the cluster that are sent a request when something happens. The directory owns them.

All webhooks are one stream, `webhooks-directory`: names are unique in a workspace, and ids count up. The deliveries of
one webhook are a stream of their own, `deliveries-7`: each delivery is due, is tried until it succeeds, or is given up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object

LINE_CHARS_MAX = 500
"""Of a line of a task that goes into a delivery: deliveries are in the log for ever."""


class Form(StrEnum):
    """What the body of a request looks like."""

    DEFAULT = "DEFAULT"
    SLACK = "SLACK"


class Mode(StrEnum):
    WORKSPACE = "WORKSPACE"
    """For every experiment of the workspace, or of the cluster, that does not exclude webhooks."""
    SPECIFIC = "SPECIFIC"
    """For experiments whose configuration names the webhook."""


class TriggerKind(StrEnum):
    STATE_CHANGE = "EXPERIMENT_STATE_CHANGE"
    TASK_LOG = "TASK_LOG"
    CUSTOM = "CUSTOM"


@dataclass(frozen=True, slots=True)
class Trigger:
    kind: str
    """One of TriggerKind."""
    state: str = ""
    """Of STATE_CHANGE: the state that the experiment comes to."""
    regex: str = ""
    """Of TASK_LOG: the pattern that a line matches."""


@dataclass(frozen=True, slots=True)
class WebhookTrigger:
    trigger_id: int
    """1, 2, 3 … of the cluster."""
    trigger: Trigger


class WebhookEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.WEBHOOKS.name


class DeliveryEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.DELIVERIES.name


class WebhookCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class WebhookCreated(WebhookEvent):
    sentence: ClassVar[str] = "webhook {webhook_id} ({name}) was created"
    webhook_id: int
    name: str
    url: str
    """Sealed under a key that follows from the cluster's secret: addresses often hold a token."""
    form: str
    mode: str
    triggers: tuple[WebhookTrigger, ...]
    owner_id: int
    """The user who made it."""
    workspace_id: int | None = None
    """None for a webhook of the whole cluster."""


@dataclass(frozen=True, slots=True)
class WebhookMoved(WebhookEvent):
    """Requests go to another address from now on, those that are due already too."""

    sentence: ClassVar[str] = "webhook {webhook_id} got another address"
    webhook_id: int
    url: str
    """Sealed, as in WebhookCreated."""


@dataclass(frozen=True, slots=True)
class WebhookDeleted(WebhookEvent):
    """Deliveries that are due are given up."""

    sentence: ClassVar[str] = "webhook {webhook_id} was deleted"
    webhook_id: int


# ---------------------------------------------------------------- deliveries


@dataclass(frozen=True, slots=True)
class DeliveryDue(DeliveryEvent):
    """Something happened that the webhook is sent. The body of the request follows from these fields."""

    sentence: ClassVar[str] = "webhook {webhook_id} is to be sent {event_type} ({delivery_id})"
    delivery_id: str
    """A UUID, which receivers get as `event_id`. It is the same whenever the same delivery is tried again."""
    webhook_id: int
    trigger_id: int
    event_type: str
    """One of TriggerKind."""
    happened_at: datetime
    condition: Object = field(default_factory=dict)
    data: Object = field(default_factory=dict)
    """What receivers get as `event_data`."""
    places: Object = field(default_factory=dict)
    """Ids for links in messages to Slack: of the workspace, the project, the experiment, the trial."""


@dataclass(frozen=True, slots=True)
class DeliveryTried(DeliveryEvent):
    """One replica of the directory has begun to send the request."""

    sentence: ClassVar[str] = "attempt {attempt} of delivery {delivery_id} began"
    delivery_id: str
    attempt: int
    """1, 2, 3 …"""
    until: datetime
    """When the attempt counts as interrupted, unless its outcome is recorded before."""


@dataclass(frozen=True, slots=True)
class DeliveryFailed(DeliveryEvent):
    sentence: ClassVar[str] = "attempt {attempt} of delivery {delivery_id} failed: {why}"
    delivery_id: str
    attempt: int
    why: str
    again_at: datetime
    answered: bool = False
    """Whether the receiver is there: if not, other deliveries wait as well."""


@dataclass(frozen=True, slots=True)
class DeliverySucceeded(DeliveryEvent):
    sentence: ClassVar[str] = "delivery {delivery_id} was answered with {status}"
    delivery_id: str
    status: int
    """Of HTTP."""


@dataclass(frozen=True, slots=True)
class DeliveryGivenUp(DeliveryEvent):
    sentence: ClassVar[str] = "delivery {delivery_id} was given up: {why}"
    delivery_id: str
    why: str


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateWebhook(WebhookCommand):
    """The reply's data has `webhook_id`."""

    name: str
    url: str
    """Sealed by the gateway."""
    form: str
    mode: str
    triggers: tuple[Trigger, ...]
    owner_id: int
    workspace_id: int | None = None


@dataclass(frozen=True, slots=True)
class MoveWebhook(WebhookCommand):
    webhook_id: int
    url: str
    """Sealed by the gateway."""


@dataclass(frozen=True, slots=True)
class DeleteWebhook(WebhookCommand):
    webhook_id: int


@dataclass(frozen=True, slots=True)
class DeleteWebhooksOfWorkspace(WebhookCommand):
    """Part of deleting the workspace."""

    workspace_id: int


@dataclass(frozen=True, slots=True)
class TestWebhook(WebhookCommand):
    """Send one request at once. Refused with the reason when the receiver does not take it."""

    __test__: ClassVar[bool] = False
    """No test of pytest's."""
    webhook_id: int


@dataclass(frozen=True, slots=True)
class RaiseAlert(WebhookCommand):
    """The code of a trial has something to say to the webhooks that the experiment's configuration names."""

    experiment_id: int
    trial_id: int | None
    title: str
    description: str
    level: str


@dataclass(frozen=True, slots=True)
class ReportTaskLogMatch(WebhookCommand):
    """A line of a task matches the pattern of a trigger. Only the first report for a task and a trigger counts."""

    webhook_id: int
    trigger_id: int
    experiment_id: int
    trial_id: int
    task_id: str
    agent_id: str
    line: str

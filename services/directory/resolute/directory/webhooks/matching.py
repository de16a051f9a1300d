"""Which webhooks are sent something because of an experiment, and what: pure functions over facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from resolute.directory.webhooks.experiments import ExperimentFacts
from resolute.directory.webhooks.registered import Webhook
from resolute.proto.message import Object
from resolute.proto.webhooks import LINE_CHARS_MAX, DeliveryDue, Mode, TriggerKind, WebhookTrigger


@dataclass(frozen=True, slots=True)
class Place:
    """Where an experiment lies."""

    workspace_id: int | None = None
    workspace: str = ""
    project_id: int = 0
    project: str = ""

    @property
    def ids(self) -> Object:
        return {"workspace_id": self.workspace_id, "project_id": self.project_id}


@dataclass(frozen=True, slots=True)
class Matched:
    webhook: Webhook
    trigger: WebhookTrigger


def asked_for(webhook: Webhook, integrations: Mapping[str, Any], workspace_id: int | None) -> bool:
    """Whether this webhook is for an experiment with these `integrations.webhooks`, in this workspace."""
    if integrations.get("exclude"):
        return False
    if webhook.workspace_id not in (None, workspace_id):
        return False
    if webhook.mode == Mode.WORKSPACE:
        return True
    ids, names = integrations.get("webhook_id") or (), integrations.get("webhook_name") or ()
    return webhook.webhook_id in ids or webhook.name in names


def on_state(webhooks: Iterable[Webhook], state: str) -> list[Matched]:
    return [
        Matched(webhook, one)
        for webhook, one in _triggers(webhooks, TriggerKind.STATE_CHANGE)
        if one.trigger.state == state
    ]


def on_alert(webhooks: Iterable[Webhook]) -> list[Matched]:
    return [Matched(webhook, one) for webhook, one in _triggers(webhooks, TriggerKind.CUSTOM)]


def _triggers(webhooks: Iterable[Webhook], kind: TriggerKind) -> Iterator[tuple[Webhook, WebhookTrigger]]:
    for webhook in webhooks:
        for one in webhook.triggers:
            if one.trigger.kind == kind:
                yield webhook, one


def due(matched: Matched, cause: str, happened_at: datetime, data: Object, places: Object) -> DeliveryDue:
    """`cause`: what happened, the same whenever it is handled again. It makes the delivery's id. `places`: the ids that
    links in messages to Slack need."""
    webhook_id, trigger = matched.webhook.webhook_id, matched.trigger
    name = f"resolute:webhook/{webhook_id}/{trigger.trigger_id}/{cause}"
    return DeliveryDue(
        delivery_id=str(uuid5(NAMESPACE_URL, name)),
        webhook_id=webhook_id,
        trigger_id=trigger.trigger_id,
        event_type=trigger.trigger.kind,
        happened_at=happened_at,
        condition=condition(trigger),
        data=data,
        places=places,
    )


def condition(trigger: WebhookTrigger) -> Object:
    """As receivers and clients see it."""
    match trigger.trigger.kind:
        case TriggerKind.STATE_CHANGE:
            return {"state": trigger.trigger.state}
        case TriggerKind.TASK_LOG:
            return {"regex": trigger.trigger.regex}
    return {}


def about_experiment(
    facts: ExperimentFacts, place: Place, state: str, duration_s: int = 0, trial_id: int | None = None
) -> Object:
    """`event_data.experiment`."""
    told: Object = {
        "id": facts.experiment_id,
        "state": state,
        "name": facts.name,
        "duration": duration_s,
        "resource_pool": facts.resource_pool,
        "slots_per_trial": facts.slots_per_trial,
        "workspace": place.workspace,
        "project": place.project,
    }
    return told if trial_id is None else {**told, "trial_id": trial_id}


def about_line(task_id: str, agent_id: str, line: str) -> Object:
    """`event_data.task_log`."""
    return {"task_id": task_id, "node_name": agent_id, "triggering_log": line[:LINE_CHARS_MAX]}

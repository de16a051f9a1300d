"""Which webhooks there are: what may be done with them, and what is true afterwards.

All webhooks are one stream, `webhooks-directory`: names are unique in a workspace, and ids count up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import get_args

from resolute.config.log_patterns import problem_with
from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.message import Event
from resolute.proto.states import ExperimentState
from resolute.proto.webhooks import (
    CreateWebhook,
    DeleteWebhook,
    DeleteWebhooksOfWorkspace,
    Form,
    Mode,
    MoveWebhook,
    Trigger,
    TriggerKind,
    WebhookCreated,
    WebhookDeleted,
    WebhookMoved,
    WebhookTrigger,
)

NAME_CHARS_MAX = 255
TRIGGERS_MAX = 20
WEBHOOKS_MAX = 1_000

STATES = tuple(state for state in ExperimentState if state is not ExperimentState.ABSENT)

State = Enum("State", "ABSENT PRESENT DELETED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, WebhookCreated): State.PRESENT,
    (State.PRESENT, WebhookMoved): State.PRESENT,
    (State.PRESENT, WebhookDeleted): State.DELETED,
}
"""Of one webhook. A deleted one is forgotten, but for its number."""

RegistryCommand = CreateWebhook | MoveWebhook | DeleteWebhook | DeleteWebhooksOfWorkspace


@dataclass(frozen=True, slots=True)
class Webhook:
    webhook_id: int
    name: str
    url: str
    """Sealed."""
    form: str
    mode: str
    triggers: tuple[WebhookTrigger, ...]
    workspace_id: int | None


@dataclass(slots=True)
class Webhooks:
    """Owned by the fold that grows it."""

    by_id: dict[int, Webhook] = field(default_factory=dict)
    last_id: int = 0
    last_trigger_id: int = 0


def decide(command: RegistryCommand, webhooks: Webhooks) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateWebhook():
            return [_create(command, webhooks)]
        case MoveWebhook(webhook_id=webhook_id, url=url):
            return [] if known(webhooks, webhook_id).url == url else [WebhookMoved(webhook_id, url)]
        case DeleteWebhook(webhook_id=webhook_id):
            known(webhooks, webhook_id)
            return [WebhookDeleted(webhook_id)]
        case DeleteWebhooksOfWorkspace(workspace_id=workspace_id):
            within = (one for one in webhooks.by_id.values() if one.workspace_id == workspace_id)
            return [WebhookDeleted(one.webhook_id) for one in within]


def _create(command: CreateWebhook, webhooks: Webhooks) -> WebhookCreated:
    check(command)
    if len(webhooks.by_id) >= WEBHOOKS_MAX:
        raise refuse("create a webhook", f"there are {WEBHOOKS_MAX:,} already", "delete one first")
    taken = (one.name for one in webhooks.by_id.values() if one.workspace_id == command.workspace_id)
    if command.name in taken:
        raise refuse(
            f"create webhook {command.name!r}", "its workspace has a webhook of that name", "choose another name"
        )
    first = webhooks.last_trigger_id + 1
    return WebhookCreated(
        webhook_id=webhooks.last_id + 1,
        name=command.name,
        url=command.url,
        form=command.form,
        mode=command.mode,
        triggers=tuple(WebhookTrigger(number, one) for number, one in enumerate(command.triggers, first)),
        owner_id=command.owner_id,
        workspace_id=command.workspace_id,
    )


def check(command: CreateWebhook) -> None:
    """Raises InvalidConfig for what no cluster could use."""
    if not command.name.strip() or len(command.name) > NAME_CHARS_MAX:
        raise InvalidConfig(f"name: a webhook needs a name of 1 to {NAME_CHARS_MAX} characters; found {command.name!r}")
    if command.form not in tuple(Form):
        raise InvalidConfig(f"webhookType: expected one of {', '.join(Form)}; found {command.form!r}")
    if command.mode not in tuple(Mode):
        raise InvalidConfig(f"mode: expected one of {', '.join(Mode)}; found {command.mode!r}")
    if not 0 < len(command.triggers) <= TRIGGERS_MAX:
        raise InvalidConfig(f"triggers: expected 1 to {TRIGGERS_MAX} triggers; found {len(command.triggers)}")
    for place, trigger in enumerate(command.triggers):
        _check_trigger(trigger, command.mode, f"triggers[{place}]")


def _check_trigger(trigger: Trigger, mode: str, path: str) -> None:
    match trigger.kind:
        case TriggerKind.STATE_CHANGE if trigger.state not in STATES:
            states = ", ".join(STATES)
            raise InvalidConfig(f"{path}.condition.state: expected one of {states}; found {trigger.state!r}")
        case TriggerKind.TASK_LOG if not trigger.regex:
            raise InvalidConfig(f"{path}.condition.regex: is missing; give the pattern that lines of the log match")
        case TriggerKind.TASK_LOG if problem := problem_with(trigger.regex):
            raise InvalidConfig(f"{path}.condition.regex: {problem}")
        case TriggerKind.CUSTOM if mode != Mode.SPECIFIC:
            raise InvalidConfig(f"{path}.triggerType: a custom trigger needs the mode {Mode.SPECIFIC}; found {mode!r}")
        case TriggerKind.STATE_CHANGE | TriggerKind.TASK_LOG | TriggerKind.CUSTOM:
            return
    raise InvalidConfig(
        f"{path}.triggerType: expected one of {', '.join(TriggerKind)}; found {trigger.kind!r}. "
        "Nothing fires for other triggers."
    )


def known(webhooks: Webhooks, webhook_id: int) -> Webhook:
    """Raises NotFound."""
    if (webhook := webhooks.by_id.get(webhook_id)) is None:
        raise NotFound(f"webhook {webhook_id} not found")
    return webhook


def evolve(webhooks: Webhooks, event: Event) -> Webhooks:
    match event:
        case WebhookCreated(webhook_id=webhook_id):
            assert FLOW[State.ABSENT, type(event)] is State.PRESENT
            webhooks.last_id = webhook_id
            webhooks.last_trigger_id = max((one.trigger_id for one in event.triggers), default=webhooks.last_trigger_id)
            webhooks.by_id[webhook_id] = _made(event)
            return webhooks
        case WebhookMoved(webhook_id=webhook_id, url=url):
            assert FLOW[_state(webhooks, webhook_id), type(event)] is State.PRESENT
            webhooks.by_id[webhook_id] = replace(webhooks.by_id[webhook_id], url=url)
            return webhooks
        case WebhookDeleted(webhook_id=webhook_id):
            assert FLOW[_state(webhooks, webhook_id), type(event)] is State.DELETED
            del webhooks.by_id[webhook_id]
            return webhooks
    raise AssertionError(f"not an event of webhooks: {event}")


def _state(webhooks: Webhooks, webhook_id: int) -> State:
    return State.PRESENT if webhook_id in webhooks.by_id else State.ABSENT


def _made(created: WebhookCreated) -> Webhook:
    return Webhook(
        created.webhook_id,
        created.name,
        created.url,
        created.form,
        created.mode,
        tuple(created.triggers),
        created.workspace_id,
    )


PART = Part(
    commands=frozenset(get_args(RegistryCommand)),
    stream_of=lambda command: streams.WEBHOOK_DIRECTORY,
    initial=Webhooks,
    decide=decide,
    evolve=evolve,
    ids={WebhookCreated: "webhook_id"},
    of_workspace=DeleteWebhooksOfWorkspace,
)

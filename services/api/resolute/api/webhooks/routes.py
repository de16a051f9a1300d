"""Webhooks, tests of them, alerts, and the history of deliveries."""

from __future__ import annotations

from collections.abc import Mapping

from resolute.api.call import Call
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.routing import OWNERS, SIGNED_IN, TASK
from resolute.api.webhooks import messages as m
from resolute.api.webhooks.queries import QUERIES, DeliveryRow, TriggerRow, WebhookQueries, WebhookRow
from resolute.proto import webhooks as proto
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound
from resolute.service.sealed_urls import seal, unseal
from resolute.service.sealing import CannotOpen

FORMS: Mapping[m.WebhookType, str] = {
    m.WebhookType.UNSPECIFIED: proto.Form.DEFAULT,
    m.WebhookType.DEFAULT: proto.Form.DEFAULT,
    m.WebhookType.SLACK: proto.Form.SLACK,
}
MODES: Mapping[m.WebhookMode, str] = {
    m.WebhookMode.UNSPECIFIED: proto.Mode.WORKSPACE,
    m.WebhookMode.WORKSPACE: proto.Mode.WORKSPACE,
    m.WebhookMode.SPECIFIC: proto.Mode.SPECIFIC,
}


async def get_webhooks(call: Call, request: m.GetWebhooks) -> m.WebhooksAnswer:
    """The webhooks of the caller's workspaces, and those of the whole cluster."""
    rows = await _queries(call).webhooks(call.scope)
    return m.WebhooksAnswer(webhooks=tuple(_shown(call, row) for row in rows))


async def post_webhook(call: Call, request: m.PostWebhook) -> m.NewWebhookAnswer:
    """Make a webhook: of a workspace, or of the whole cluster."""
    new = request.body
    if new.workspace_id is None and not call.scope.is_everything:
        raise Forbidden("a webhook of the whole cluster needs the permission in the whole cluster; name a workspace")
    create = proto.CreateWebhook(
        name=new.name,
        url=seal(call.gateway.context.secret, new.url),
        form=FORMS[new.webhook_type],
        mode=MODES[new.mode],
        triggers=tuple(_trigger(one, f"triggers[{place}]") for place, one in enumerate(new.triggers)),
        owner_id=call.principal.user_id,
        workspace_id=new.workspace_id,
    )
    made = await call.send(create)
    return m.NewWebhookAnswer(webhook=_shown(call, await _webhook(call, made.data["webhook_id"])))


def _trigger(given: m.Trigger, path: str) -> proto.Trigger:
    """Raises InvalidConfig for a condition that is no text."""
    condition = given.condition or {}
    kind = given.trigger_type.removeprefix("TRIGGER_TYPE_")
    return proto.Trigger(kind, _said(condition, "state", path), _said(condition, "regex", path))


def _said(condition: Mapping[str, object], name: str, path: str) -> str:
    value = condition.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidConfig(f"{path}.condition.{name}: expected a text; found {str(value)[:100]!r}")
    return (value or "").removeprefix("STATE_" if name == "state" else "")


async def patch_webhook(call: Call, request: m.PatchWebhook) -> Empty:
    """Give a webhook another address. What is due goes there too."""
    await call.send(proto.MoveWebhook(request.id, seal(call.gateway.context.secret, request.body.url)))
    return Empty()


async def delete_webhook(call: Call, request: m.OneWebhook) -> Empty:
    """Delete a webhook with the history of its deliveries. What is due is given up."""
    await call.send(proto.DeleteWebhook(request.id))
    return Empty()


async def test_webhook(call: Call, request: m.OneWebhook) -> m.TestAnswer:
    """Send the receiver one request at once, and answer whether the receiver took it."""
    await call.send(proto.TestWebhook(request.id))
    return m.TestAnswer(completed=True)


async def post_webhook_event_data(call: Call, request: m.PostWebhookEventData) -> Empty:
    """An alert of a trial, for the webhooks that the experiment's configuration names."""
    alert = request.body
    data = alert.data or m.AlertData()
    level = data.level.removeprefix("LOG_LEVEL_")
    raised = proto.RaiseAlert(
        experiment_id=alert.experiment_id,
        trial_id=alert.trial_id or None,
        title=data.title,
        description=data.description,
        level="INFO" if level == "UNSPECIFIED" else level,
    )
    await call.send(raised)
    return Empty()


async def get_webhook_deliveries(call: Call, request: m.GetWebhookDeliveries) -> m.DeliveriesAnswer:
    """What a webhook was sent, and what is due, the newest first."""
    await _webhook(call, request.id)
    found = await _queries(call).deliveries(request.id, Window(request.offset, request.limit))
    return m.DeliveriesAnswer(deliveries=tuple(map(_shown_delivery, found.rows)), pagination=Pagination.of(found.page))


# ---------------------------------------------------------------- what answers show


def _queries(call: Call) -> WebhookQueries:
    return call.gateway.ports.of(QUERIES)


async def _webhook(call: Call, webhook_id: int) -> WebhookRow:
    """Raises NotFound."""
    if (row := await _queries(call).webhook(webhook_id)) is None:
        raise NotFound(f"webhook {webhook_id} not found")
    return row


def _shown(call: Call, row: WebhookRow) -> m.Webhook:
    try:
        url = unseal(call.gateway.context.secret, row.url)
    except CannotOpen:
        url = ""  # the cluster has another secret than when it was set: it has to be set again
    return m.Webhook(
        id=row.id,
        url=url,
        webhook_type=m.WebhookType(f"WEBHOOK_TYPE_{row.form}"),
        name=row.name,
        mode=m.WebhookMode(f"WEBHOOK_MODE_{row.mode}"),
        triggers=tuple(_shown_trigger(row.id, one) for one in row.triggers),
        workspace_id=row.workspace_id,
    )


def _shown_trigger(webhook_id: int, row: TriggerRow) -> m.Trigger:
    condition = {"state": row.state} if row.state else {"regex": row.regex} if row.regex else {}
    return m.Trigger(
        id=row.id,
        trigger_type=m.TriggerType(f"TRIGGER_TYPE_{row.kind}"),
        condition=condition,
        webhook_id=webhook_id,
    )


def _shown_delivery(row: DeliveryRow) -> m.Delivery:
    return m.Delivery(
        event_id=row.delivery_id,
        trigger_id=row.trigger_id,
        trigger_type=m.TriggerType(f"TRIGGER_TYPE_{row.event_type}"),
        state=m.DeliveryState(f"WEBHOOK_DELIVERY_STATE_{row.state}"),
        attempts=row.attempts,
        status=row.status,
        reason=row.why,
        event_data=row.data,
        happened_at=row.happened_at,
        next_attempt_at=row.next_at,
        ended_at=row.ended_at,
    )


TAG = "Webhooks"

WEBHOOKS = "/api/v1/webhooks"
WEBHOOK = "/api/v1/webhooks/{id}"

EDIT = OWNERS.to("webhook.edit").about("webhook", "id")

ROUTES = (
    operation(
        "GetWebhooks",
        "GET",
        WEBHOOKS,
        get_webhooks,
        SIGNED_IN.to("webhook.view").over_scope(),
        request=m.GetWebhooks,
        response=m.WebhooksAnswer,
        tag=TAG,
    ),
    operation(
        "PostWebhook",
        "POST",
        WEBHOOKS,
        post_webhook,
        OWNERS.to("webhook.edit").about("workspace", "body.workspaceId", optional=True),
        request=m.PostWebhook,
        response=m.NewWebhookAnswer,
        tag=TAG,
    ),
    operation(
        "PostWebhookEventData",
        "POST",
        f"{WEBHOOKS}/custom",
        post_webhook_event_data,
        (TASK | SIGNED_IN)
        .to("experiment.edit")
        .about("experiment", "body.experimentId")
        .about("trial", "body.trialId", optional=True),
        request=m.PostWebhookEventData,
        response=Empty,
        tag=TAG,
    ),
    operation("PatchWebhook", "PATCH", WEBHOOK, patch_webhook, EDIT, request=m.PatchWebhook, response=Empty, tag=TAG),
    operation("DeleteWebhook", "DELETE", WEBHOOK, delete_webhook, EDIT, request=m.OneWebhook, response=Empty, tag=TAG),
    operation(
        "TestWebhook",
        "POST",
        f"{WEBHOOK}/test",
        test_webhook,
        EDIT,
        request=m.OneWebhook,
        response=m.TestAnswer,
        tag=TAG,
    ),
    operation(
        "GetWebhookDeliveries",
        "GET",
        f"{WEBHOOK}/deliveries",
        get_webhook_deliveries,
        OWNERS.to("webhook.deliveries.view").about("webhook", "id"),
        request=m.GetWebhookDeliveries,
        response=m.DeliveriesAnswer,
        tag=TAG,
    ),
)

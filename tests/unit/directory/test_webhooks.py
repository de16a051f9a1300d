"""Webhooks: what may be done with them, which of them an experiment concerns, and what is said to receivers."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pytest

from resolute.directory.webhooks import addresses, bodies, experiments, matching, registered
from resolute.directory.webhooks.addresses import Allowed
from resolute.directory.webhooks.experiments import ExperimentFacts
from resolute.directory.webhooks.matching import Matched, Place
from resolute.directory.webhooks.registered import Webhooks
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentCreated,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentStopping,
)
from resolute.proto.message import Event
from resolute.proto.webhooks import (
    CreateWebhook,
    DeleteWebhook,
    DeleteWebhooksOfWorkspace,
    DeliveryDue,
    MoveWebhook,
    Trigger,
    TriggerKind,
    WebhookCreated,
    WebhookDeleted,
    WebhookMoved,
)

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

COMPLETED = Trigger(TriggerKind.STATE_CHANGE, state="COMPLETED")
ALERTS = Trigger(TriggerKind.CUSTOM)
NEW = CreateWebhook("ours", "sealed", "DEFAULT", "WORKSPACE", (COMPLETED,), owner_id=1, workspace_id=2)


def after(*events: Event) -> Webhooks:
    return reduce(registered.evolve, events, Webhooks())


def made(**changes: Any) -> WebhookCreated:
    [event] = registered.decide(replace(NEW, **changes), Webhooks())
    assert isinstance(event, WebhookCreated)
    return event


def test_webhooks_and_triggers_are_numbered_in_the_cluster() -> None:
    webhooks = after(made())
    [second] = registered.decide(replace(NEW, name="other", triggers=(COMPLETED, COMPLETED)), webhooks)
    assert isinstance(second, WebhookCreated)
    assert (second.webhook_id, [one.trigger_id for one in second.triggers]) == (2, [2, 3])


def test_a_webhook_gets_another_address_and_is_deleted() -> None:
    webhooks = after(made())
    assert registered.decide(MoveWebhook(1, "sealed"), webhooks) == []
    assert registered.decide(MoveWebhook(1, "other"), webhooks) == [WebhookMoved(1, "other")]
    moved = after(made(), WebhookMoved(1, "other"))
    assert moved.by_id[1].url == "other"
    assert registered.decide(DeleteWebhook(1), moved) == [WebhookDeleted(1)]
    gone = after(made(), WebhookDeleted(1))
    for command in (MoveWebhook(1, "x"), DeleteWebhook(1)):
        with pytest.raises(NotFound, match="webhook 1 not found"):
            registered.decide(command, gone)
    [again] = registered.decide(NEW, gone)
    assert isinstance(again, WebhookCreated)
    assert again.webhook_id == 2


def test_webhooks_are_deleted_with_their_workspace_and_those_of_the_cluster_stay() -> None:
    both = after(made(workspace_id=None), replace(made(workspace_id=3), webhook_id=2))
    assert registered.decide(DeleteWebhooksOfWorkspace(3), both) == [WebhookDeleted(2)]


def test_a_name_is_taken_once_in_a_workspace_and_once_in_the_cluster() -> None:
    webhooks = after(made())
    with pytest.raises(Refused, match="has a webhook of that name"):
        registered.decide(NEW, webhooks)
    assert registered.decide(replace(NEW, workspace_id=3), webhooks)
    assert registered.decide(replace(NEW, workspace_id=None), webhooks)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": " "}, "name: a webhook needs a name"),
        ({"form": "TEAMS"}, "webhookType: expected one of DEFAULT, SLACK"),
        ({"mode": "ALL"}, "mode: expected one of"),
        ({"triggers": ()}, "expected 1 to 20 triggers; found 0"),
        ({"triggers": (Trigger(TriggerKind.STATE_CHANGE, state="DONE"),)}, r"triggers\[0\].condition.state"),
        ({"triggers": (Trigger(TriggerKind.TASK_LOG),)}, r"triggers\[0\].condition.regex: is missing"),
        ({"triggers": (Trigger(TriggerKind.TASK_LOG, regex="("),)}, r"triggers\[0\].condition.regex: missing"),
        ({"triggers": (COMPLETED, ALERTS)}, r"triggers\[1\].triggerType: a custom trigger needs the mode SPECIFIC"),
        ({"triggers": (Trigger("METRIC_THRESHOLD_EXCEEDED"),)}, "Nothing fires for other triggers"),
    ],
)
def test_what_would_never_fire_is_refused_by_its_path(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        registered.decide(replace(NEW, **changes), Webhooks())


@pytest.mark.parametrize(
    ("mode", "of_workspace", "integrations", "asked"),
    [
        ("WORKSPACE", 2, {}, True),
        ("WORKSPACE", None, {}, True),
        ("WORKSPACE", 3, {}, False),
        ("WORKSPACE", 2, {"exclude": True}, False),
        ("SPECIFIC", 2, {}, False),
        ("SPECIFIC", 2, {"webhook_id": [1]}, True),
        ("SPECIFIC", 2, {"webhook_name": ["ours"]}, True),
        ("SPECIFIC", 2, {"webhook_name": ["theirs"], "webhook_id": [7]}, False),
        ("SPECIFIC", 3, {"webhook_id": [1]}, False),
        ("SPECIFIC", None, {"webhook_id": [1], "exclude": True}, False),
    ],
)
def test_an_experiment_says_which_webhooks_are_for_it(
    mode: str, of_workspace: int | None, integrations: dict[str, Any], asked: bool
) -> None:
    webhook = after(made(mode=mode, workspace_id=of_workspace)).by_id[1]
    assert matching.asked_for(webhook, integrations, 2) is asked


def an_experiment(*more: Event) -> ExperimentFacts:
    config = {
        "resources": {"resource_pool": "gpus", "slots_per_trial": 4},
        "integrations": {"webhooks": {"webhook_id": [1]}},
    }
    created = ExperimentCreated(7, "job", "mnist", config, "", 1, "ann", 3, 0)
    return reduce(experiments.evolve, (created, *more), ExperimentFacts())


def test_what_is_told_of_an_experiment_follows_its_edits_and_moves() -> None:
    facts = an_experiment(
        ExperimentActivated(), ExperimentEdited({"name": "digits", "resource_pool": "big"}), ExperimentMoved(4)
    )
    assert (facts.name, facts.resource_pool, facts.project_id, facts.state) == ("digits", "big", 4, "ACTIVE")
    assert (facts.slots_per_trial, facts.integrations) == (4, {"webhook_id": [1]})
    ended = an_experiment(ExperimentStopping("ERROR", "boom"), ExperimentEnded("ERROR", "boom"))
    assert ended.state == "ERROR"


PLACE = Place(2, "Vision", 3, "Digits")


def a_delivery(kind: str = TriggerKind.STATE_CHANGE, state: str = "COMPLETED", **data: Any) -> DeliveryDue:
    trigger = {TriggerKind.STATE_CHANGE: COMPLETED, TriggerKind.CUSTOM: ALERTS}.get(
        TriggerKind(kind), Trigger(TriggerKind.TASK_LOG, regex="a < b")
    )
    webhook = after(made(triggers=(trigger,), mode="SPECIFIC")).by_id[1]
    told = data or {"experiment": matching.about_experiment(an_experiment(), PLACE, state, 3900)}
    places = {**PLACE.ids, "experiment_id": 7, "trial_id": 9}
    return matching.due(Matched(webhook, webhook.triggers[0]), "evt-12", AT, told, places)


def test_the_body_of_the_default_form_is_determineds() -> None:
    due = a_delivery()
    assert json.loads(bodies.body(due, "DEFAULT", "")) == {
        "event_id": due.delivery_id,
        "event_type": "EXPERIMENT_STATE_CHANGE",
        "timestamp": int(AT.timestamp()),
        "condition": {"state": "COMPLETED"},
        "event_data": {
            "experiment": {
                "id": 7,
                "state": "COMPLETED",
                "name": "mnist",
                "duration": 3900,
                "resource_pool": "gpus",
                "slots_per_trial": 4,
                "workspace": "Vision",
                "project": "Digits",
            }
        },
    }


def test_the_id_of_a_delivery_follows_from_what_happened() -> None:
    assert a_delivery() == a_delivery()
    webhook = after(made()).by_id[1]
    other = matching.due(Matched(webhook, webhook.triggers[0]), "evt-13", AT, {}, {})
    assert other.delivery_id != a_delivery().delivery_id


@pytest.mark.parametrize(
    ("state", "said", "color", "status"),
    [
        ("COMPLETED", "Your experiment completed successfully 🎉", "#13B670", "Completed"),
        ("ERROR", "Your experiment has stopped with errors", "#DD5040", "Errored"),
        ("PAUSED", "The status of your experiment is PAUSED", "#009bde", "PAUSED"),
    ],
)
def test_slack_gets_a_sentence_and_an_attachment_with_links(state: str, said: str, color: str, status: str) -> None:
    told = json.loads(bodies.body(a_delivery(state=state), "SLACK", "https://det.example/"))
    assert told["blocks"] == [{"type": "section", "text": {"type": "plain_text", "text": said}}]
    [attachment] = told["attachments"]
    [block] = attachment["blocks"]
    fields = [one["text"] for one in block["fields"]]
    assert (attachment["color"], fields[0]) == (color, f"*Status*: {status}")
    assert ("*Duration*: 1h 5min" in fields) is (state in ("COMPLETED", "ERROR"))
    assert "*Workspace*: <https://det.example/det/workspaces/2/projects|Vision>" in fields
    assert "*Project*: <https://det.example/det/projects/3|Digits>" in fields
    assert block["text"]["text"].startswith("<https://det.example/det/experiments/7/overview|mnist")


def test_slack_gets_alerts_and_lines_with_its_own_signs_escaped() -> None:
    experiment = matching.about_experiment(an_experiment(), PLACE, "ACTIVE", trial_id=9)
    alert = a_delivery(
        TriggerKind.CUSTOM,
        experiment=experiment,
        custom_data={"title": "loss < 0", "description": "d", "level": "ERROR"},
    )
    told = json.loads(bodies.body(alert, "SLACK", ""))
    [event] = told["blocks"]
    assert [one["text"] for one in event["fields"]] == [
        "*Level*: ERROR",
        "*Title*: loss &lt; 0",
        "*Description*: d",
    ]
    [block] = told["attachments"][0]["blocks"]
    fields = [one["text"] for one in block["fields"]]
    assert "*Trial ID*: 9" in fields
    assert "*Workspace*: Vision" in fields
    line = a_delivery(TriggerKind.TASK_LOG, task_log=matching.about_line("task-1", "agent-0", "a < b" * 200))
    [section] = json.loads(bodies.body(line, "SLACK", "https://det.example"))["blocks"]
    text = section["text"]["text"]
    assert "a &lt; b" in text
    assert "<https://det.example/det/experiments/7/trials/9/logs|" in text
    assert len(line.data["task_log"]["triggering_log"]) == 500


def test_a_long_alert_is_cut_to_what_slack_takes() -> None:
    experiment = a_delivery().data["experiment"]
    long = {"title": "t" * 300, "description": "d" * 10_000, "level": "ERROR"}
    alert = a_delivery(TriggerKind.CUSTOM, experiment=experiment, custom_data=long)
    [event] = json.loads(bodies.body(alert, "SLACK", ""))["blocks"]
    description = event["fields"][2]["text"]
    assert (len(description), description[-1]) == (2_000, "…")
    whole = json.loads(bodies.body(alert, "DEFAULT", ""))
    assert whole["event_data"]["custom_data"]["description"] == long["description"]


def test_requests_are_signed_over_the_time_and_the_body() -> None:
    headers = bodies.signature("key", 1700000000, b"{}")
    expected = hmac.new(b"key", b"1700000000,{}", hashlib.sha256).hexdigest()
    assert headers == {
        "X-Determined-AI-Signature-Timestamp": "1700000000",
        "X-Determined-AI-Signature": expected,
    }
    test = json.loads(bodies.body_of_test("an-id", "DEFAULT", AT))
    assert (test["event_data"], test["condition"]) == ({"data": "test"}, {"state": "COMPLETED"})
    assert "blocks" in json.loads(bodies.body_of_test("an-id", "SLACK", AT))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "172.16.5.5", "169.254.169.254", "fe80::1", "fd00::1"),
        *("0.0.0.0", "::", "100.64.0.1", "224.0.0.1", "255.255.255.255", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "192.0.2.1", "fec0::1", "3fff::1", "ff02::1"),
    ],
)
def test_addresses_inside_the_cluster_are_refused(address: str) -> None:
    refused = addresses.refused(Allowed(), [address])
    assert refused is not None
    assert "allowed_networks" in refused
    assert addresses.refused(Allowed(), ["8.8.8.8", address]) is not None


def test_public_addresses_and_those_that_are_allowed_are_reached() -> None:
    assert addresses.refused(Allowed(), ["8.8.8.8", "2606:4700::1111"]) is None
    allowed = Allowed.of(["10.1.0.0/16", "127.0.0.1"])
    assert addresses.refused(allowed, ["10.1.200.3", "127.0.0.1", "::ffff:10.1.0.1"]) is None
    assert addresses.refused(allowed, ["10.2.0.1"]) is not None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host/s",
        "http://a..b/s",
        f"http://{'a' * 70}.com/s",
        "https:///s",
        "host/s",
        "http://a b/s",
        "https://[::1/s",
        "x" * 2001,
    ],
)
def test_what_is_no_address_of_the_web_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        addresses.read(url)
    assert not url or url not in refused.value.message

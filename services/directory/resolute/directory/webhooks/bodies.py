"""The bodies of requests to receivers, in the default form and as messages to Slack, and their signature."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from resolute.proto.message import Object
from resolute.proto.states import ExperimentState
from resolute.proto.webhooks import DeliveryDue, Form, TriggerKind

TIMESTAMP_HEADER = "X-Determined-AI-Signature-Timestamp"
SIGNATURE_HEADER = "X-Determined-AI-Signature"

GREEN, RED, BLUE = "#13B670", "#DD5040", "#009bde"
LEVEL_COLORS = {"ERROR": RED, "CRITICAL": RED}


def body(due: DeliveryDue, form: str, base_url: str) -> bytes:
    told = _slack(due, base_url.rstrip("/")) if form == Form.SLACK else _default(due)
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def body_of_test(event_id: str, form: str, now: datetime) -> bytes:
    """Of the request that shows whether a receiver works."""
    if form == Form.SLACK:
        return json.dumps({"blocks": [_section("test")]}, separators=(",", ":")).encode()
    told = {
        "event_id": event_id,
        "event_type": TriggerKind.STATE_CHANGE.value,
        "timestamp": int(now.timestamp()),
        "condition": {"state": ExperimentState.COMPLETED.value},
        "event_data": {"data": "test"},
    }
    return json.dumps(told, separators=(",", ":")).encode()


def signature(key: str, timestamp_s: int, sent: bytes) -> dict[str, str]:
    """The headers by which a receiver knows that the request comes from this cluster."""
    signed = hmac.new(key.encode(), f"{timestamp_s},".encode() + sent, hashlib.sha256).hexdigest()
    return {TIMESTAMP_HEADER: str(timestamp_s), SIGNATURE_HEADER: signed}


def _default(due: DeliveryDue) -> Object:
    return {
        "event_id": due.delivery_id,
        "event_type": due.event_type,
        "timestamp": int(due.happened_at.timestamp()),
        "condition": due.condition,
        "event_data": due.data,
    }


# ---------------------------------------------------------------- Slack


TEXT_CHARS_MAX, FIELD_CHARS_MAX = 3_000, 2_000
"""Of a section and of a field in it: Slack refuses a message with longer ones."""


def _slack(due: DeliveryDue, base_url: str) -> Object:
    match due.event_type:
        case TriggerKind.TASK_LOG:
            return {"blocks": [_line(due, base_url)]}
        case TriggerKind.CUSTOM:
            return _alert(due, base_url)
    return _state(due, base_url)


def _line(due: DeliveryDue, base_url: str) -> Object:
    found = due.data["task_log"]
    where = f"in task `{_plain(found['task_id'])}` on `{_plain(found['node_name'])}`"
    pattern = _plain(str(due.condition.get("regex", "")))
    text = f"A line of the log matches `{pattern}` {where}:\n```{_plain(found['triggering_log'])}```"
    if base_url and due.places.get("trial_id"):
        path = f"det/experiments/{due.places['experiment_id']}/trials/{due.places['trial_id']}/logs"
        text += f"\n<{base_url}/{path}|View the log>"
    return _section(text, "mrkdwn")


def _state(due: DeliveryDue, base_url: str) -> Object:
    experiment = due.data["experiment"]
    said, status, color = _said(experiment["state"])
    fields = [f"*Status*: {status}"]
    if experiment["state"] in (ExperimentState.COMPLETED, ExperimentState.ERROR):
        fields.append(f"*Duration*: {duration(experiment['duration'])}")
    fields += _where(due, experiment, base_url)
    return {"blocks": [_section(said)], "attachments": [_attachment(due, base_url, color, fields)]}


def _said(state: str) -> tuple[str, str, str]:
    match state:
        case ExperimentState.COMPLETED:
            return "Your experiment completed successfully 🎉", "Completed", GREEN
        case ExperimentState.ERROR:
            return "Your experiment has stopped with errors", "Errored", RED
    return f"The status of your experiment is {state}", state, BLUE


def _alert(due: DeliveryDue, base_url: str) -> Object:
    experiment, alert = due.data["experiment"], due.data["custom_data"]
    fields = [f"*{name.capitalize()}*: {_plain(str(alert[name]))}" for name in ("level", "title", "description")]
    color = LEVEL_COLORS.get(alert["level"], BLUE)
    told = [f"*Status*: {experiment['state']}", *_where(due, experiment, base_url)]
    if "trial_id" in experiment:
        told.append(f"*Trial ID*: {experiment['trial_id']}")
    event = _section("Event Data")
    event["fields"] = [_field(one) for one in fields]
    return {"blocks": [event], "attachments": [_attachment(due, base_url, color, told)]}


def _where(due: DeliveryDue, experiment: Mapping[str, Any], base_url: str) -> list[str]:
    workspace_id, project_id = due.places.get("workspace_id"), due.places.get("project_id")
    workspace = _link(base_url, f"det/workspaces/{workspace_id}/projects", experiment["workspace"])
    project = _link(base_url, f"det/projects/{project_id}", experiment["project"])
    return [f"*Workspace*: {workspace}", f"*Project*: {project}"]


def _attachment(due: DeliveryDue, base_url: str, color: str, fields: list[str]) -> Object:
    experiment = due.data["experiment"]
    name = f"{experiment['name']} (#{experiment['id']})"
    block = _section(_link(base_url, f"det/experiments/{experiment['id']}/overview", name), "mrkdwn")
    block["fields"] = [_field(one) for one in fields]
    return {"color": color, "blocks": [block]}


def _section(text: str, kind: str = "plain_text") -> Object:
    return {"type": "section", "text": _text(text, kind)}


def _field(text: str) -> Object:
    return _text(text, "mrkdwn", FIELD_CHARS_MAX)


def _text(text: str, kind: str, most: int = TEXT_CHARS_MAX) -> Object:
    return {"type": kind, "text": text if len(text) <= most else f"{text[: most - 1]}…"}


def _link(base_url: str, path: str, name: str) -> str:
    return f"<{base_url}/{path}|{_plain(name)}>" if base_url else _plain(name)


def _plain(text: str) -> str:
    """Slack takes these three characters for its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def duration(seconds: int) -> str:
    """As people read it: `1h 5min`."""
    hours, rest = divmod(int(seconds), 3600)
    parts = [f"{hours}h" if hours else "", f"{rest // 60}min" if rest >= 60 else ""]
    return " ".join(filter(None, parts)) or f"{rest}s"

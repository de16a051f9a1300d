"""The public client's webhooks: its bindings, and a receiver that is told of an experiment's end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.interop.conftest import PublicClient

MAKE = """
from determined.common.api import bindings as b
session = client._determined._session
home = b.post_PostWorkspace(session, body=b.v1PostWorkspaceRequest(name="of hooks")).workspace.id
b.post_PostProject(session, body=b.v1PostProjectRequest(name="hooked", workspaceId=home), workspaceId=home)
trigger = b.v1Trigger(
    triggerType=b.v1TriggerType.EXPERIMENT_STATE_CHANGE, condition={{"state": "COMPLETED"}}
)
new = b.v1Webhook(
    name="ours", url="{url}", mode=b.v1WebhookMode.WORKSPACE, webhookType=b.v1WebhookType.DEFAULT,
    triggers=[trigger], workspaceId=home,
)
webhook = b.post_PostWebhook(session, body=new).webhook
print("tested", b.post_TestWebhook(session, id=webhook.id).completed)
print("listed", [one.name for one in b.get_GetWebhooks(session).webhooks], webhook.triggers[0].condition)
print("id", webhook.id)
"""

REMOVE = """
from determined.common.api import bindings as b
session = client._determined._session
data = b.v1CustomWebhookEventData(title="t", description="d", level=b.v1LogLevel.INFO)
b.post_PostWebhookEventData(session, body=b.v1PostWebhookEventDataRequest(data=data, experimentId={experiment}))
b.patch_PatchWebhook(session, body=b.v1PatchWebhook(url="{url}?moved"), id={webhook})
print("moved", b.get_GetWebhooks(session).webhooks[0].url)
b.delete_DeleteWebhook(session, id={webhook})
print("left", len(b.get_GetWebhooks(session).webhooks))
"""


@pytest.fixture
def received() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a receiver, and what it is sent."""
    found: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *said: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", found
    finally:
        server.shutdown()
        server.server_close()


def test_a_receiver_is_told_that_an_experiment_has_completed(
    public: PublicClient, received: tuple[str, list[dict[str, Any]]]
) -> None:
    url, found = received
    made = dict(line.split(" ", 1) for line in public.python(MAKE.format(url=url)).splitlines())
    assert (made["tested"], made["listed"]) == ("True", "['ours'] {'state': 'COMPLETED'}")
    assert found[0]["event_data"] == {"data": "test"}
    experiment = public.submit("--config", "workspace=of hooks", "--config", "project=hooked")
    assert public.until(experiment, lambda state: state == "STATE_COMPLETED") == "STATE_COMPLETED"
    deadline = time.monotonic() + 60
    while len(found) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    told = found[1]["event_data"]["experiment"]
    assert (told["id"], told["state"], told["workspace"], told["project"]) == (
        experiment,
        "COMPLETED",
        "of hooks",
        "hooked",
    )
    removed = public.python(REMOVE.format(url=url, webhook=made["id"], experiment=experiment))
    assert removed.splitlines() == [f"moved {url}?moved", "left 0"]
    assert len(found) == 2, "nothing is sent twice"

"""The public client's live updates: it subscribes, is told of changes, and comes again with what it knows."""

from __future__ import annotations

from tests.interop.conftest import PublicClient

LISTEN = """
from determined.common import streams
from determined.common.api import bindings as b
from determined.common.streams import _client, wire

session = client._determined._session
home = b.post_PostWorkspace(session, body=b.v1PostWorkspaceRequest(name="of streams")).workspace.id
stream = _client.Stream(_client.LomondStreamWebSocket(session))
stream.subscribe(
    sync_id="first", projects=_client.ProjectSpec(workspace_id=home), models=_client.ModelSpec(workspace_id=home)
)

def said(message):
    if isinstance(message, _client.Sync):
        return message.sync_id, message.complete
    if isinstance(message, wire.DeleteMsg):
        return type(message).__name__, message.keys
    return type(message).__name__, message.name, message.state if hasattr(message, "state") else message.archived

def until(wanted):
    for message in stream:
        print(said(message))
        if said(message) == wanted:
            return

until(("first", True))
made = b.v1PostProjectRequest(name="streamed", workspaceId=home)
project = b.post_PostProject(session, body=made, workspaceId=home).project.id
until(("ProjectMsg", "streamed", "UNSPECIFIED"))
model = b.post_PostModel(session, body=b.v1PostModelRequest(name="streamed", workspaceId=home)).model.id
until(("ModelMsg", "streamed", False))
b.post_ArchiveModel(session, modelName="streamed")
until(("ModelMsg", "streamed", True))
stream.subscribe(sync_id="second", models=_client.ModelSpec(workspace_id=home))
until(("second", True))
b.delete_DeleteModel(session, modelName="streamed")
until(("ModelsDeleted", str(model)))
"""


def test_the_client_of_streams_is_told_what_changes(public: PublicClient) -> None:
    said = public.python(LISTEN).splitlines()
    assert said[0] == "('first', False)"
    assert {"('ModelMsg', 'streamed', True)", "('second', True)"} <= set(said)
    again = said[said.index("('second', False)") :]
    assert not any("ModelMsg" in one for one in again), "what the client knows was sent again"

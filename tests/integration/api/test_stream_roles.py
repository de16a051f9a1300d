"""Live updates where roles decide: a client is sent what its user may see, and is closed as soon as that changes."""

from __future__ import annotations

from tests.integration.api.running import Client, Running
from tests.integration.api.test_roles import ADD, EDITOR, REMOVE, admin, cluster, of_group, of_user, person, workspace
from tests.integration.api.test_stream import ALL, listening, shown

__all__ = ["admin", "cluster"]


async def test_a_listener_sees_its_workspaces_alone_and_comes_again_when_its_roles_change(
    cluster: Running, admin: Client
) -> None:
    (vision, sight), (speech, sound) = await workspace(admin, "vision"), await workspace(admin, "speech")
    ada, as_ada = await person(cluster, admin, "ada")
    bob, as_bob = await person(cluster, admin, "bob")
    group = (await admin.post("/api/v1/groups", {"name": "painters", "addUsers": [ada]}))["group"]["groupId"]
    await admin.post(ADD, of_group(group, EDITOR, vision))
    async with listening(as_ada) as listener, listening(as_bob) as other:
        assert shown({}, await listener.subscribe(projects=ALL)).keys() == {("project", sight)}
        assert shown({}, await other.subscribe(projects=ALL)) == {}
        await admin.call("PATCH", f"/api/v1/projects/{sound}", {"description": "hidden"})
        await admin.call("PATCH", f"/api/v1/projects/{sight}", {"description": "shown"})
        changed = (await listener.next())["project"]
        assert (changed["id"], changed["description"]) == (sight, "shown")
        await admin.post(f"/api/v1/projects/{sound}/move", {"destinationWorkspaceId": vision})
        assert (await listener.next())["project"]["id"] == sound
        await admin.post(f"/api/v1/projects/{sound}/move", {"destinationWorkspaceId": speech})
        assert await listener.next() == {"projects_deleted": str(sound)}
        await admin.post(ADD, of_user(bob, EDITOR, speech))
        assert (await other.closed())[1].startswith("your session or your permissions changed")
        await admin.post(REMOVE, of_group(group, EDITOR, vision))
        assert (await listener.closed())[1].startswith("your session or your permissions changed")
    async with listening(as_ada) as listener, listening(as_bob) as other:
        known = {"projects": str(sight)}
        assert await listener.subscribe("again", known, projects=ALL) == [{"projects_deleted": str(sight)}]
        assert shown({}, await other.subscribe(projects=ALL)).keys() == {("project", sound)}

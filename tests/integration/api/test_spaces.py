"""Workspaces and projects over REST: archives, pins, moves, notes, keys, and deletion with everything inside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.api.running import Client, Running, running

CONFIG = """
name: digits
entrypoint: "true"
searcher: {name: single, metric: loss, max_length: {batches: 100}}
"""


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn, services=True) as cluster:
        yield cluster


@pytest.fixture
async def someone(cluster: Running) -> Client:
    return await cluster.nobody.login("determined")


async def new_workspace(client: Client, name: str) -> int:
    return int((await client.post("/api/v1/workspaces", {"name": name}))["workspace"]["id"])


async def new_project(client: Client, workspace_id: int, name: str, **said: Any) -> dict[str, Any]:
    body = {"name": name, "workspaceId": workspace_id, **said}
    project: dict[str, Any] = (await client.post(f"/api/v1/workspaces/{workspace_id}/projects", body))["project"]
    return project


async def submitted(client: Client, project_id: int) -> int:
    body = {"config": CONFIG, "projectId": project_id, "activate": False}
    return int((await client.post("/api/v1/experiments", body))["experiment"]["id"])


def webhook(name: str, workspace_id: int) -> dict[str, Any]:
    """A webhook that is sent what completes, which nothing does here."""
    trigger = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "COMPLETED"}}
    said = {"name": name, "url": "http://1.1.1.1/hook", "workspaceId": workspace_id, "triggers": [trigger]}
    return {**said, "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE"}


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def status(client: Client, path: str) -> int:
    return (await client.call("GET", path)).status


async def test_pins_are_of_each_user_and_the_creator_begins_with_one(cluster: Running, someone: Client) -> None:
    admin = await cluster.nobody.login("admin")
    ours = await new_workspace(someone, "ours")
    path = f"/api/v1/workspaces/{ours}"
    shown = (await someone.get(path))["workspace"]
    assert shown["pinned"] is True
    assert shown["pinnedAt"]
    assert (await admin.get(path))["workspace"]["pinned"] is False
    assert [one["name"] for one in (await someone.get("/api/v1/workspaces", pinned="true"))["workspaces"]] == ["ours"]
    await admin.post("/api/v1/workspaces/1/pin")
    await someone.post(f"{path}/unpin")
    assert (await someone.get("/api/v1/workspaces", pinned="true"))["workspaces"] == []
    assert [one["id"] for one in (await admin.get("/api/v1/workspaces", pinned="true"))["workspaces"]] == [1]


async def test_what_is_in_an_archived_workspace_stays_as_it_is(cluster: Running, someone: Client) -> None:
    ours = await new_workspace(someone, "ours")
    project = (await new_project(someone, ours, "first"))["id"]
    await someone.post(f"/api/v1/workspaces/{ours}/archive")
    assert (await someone.get(f"/api/v1/projects/{project}"))["project"]["archived"] is True
    assert [one["id"] for one in (await someone.get("/api/v1/workspaces", archived="true"))["workspaces"]] == [ours]
    status_, why = await refused(someone, "POST", f"/api/v1/projects/{project}/archive")
    assert (status_, why) == (
        409,
        "This project belongs to an archived workspace. To make changes, first unarchive the workspace.",
    )
    assert (await refused(someone, "PATCH", f"/api/v1/projects/{project}", {"name": "n"}))[0] == 409
    body = {"config": CONFIG, "projectId": project}
    assert "it is archived" in (await refused(someone, "POST", "/api/v1/experiments", body))[1]
    await someone.post(f"/api/v1/workspaces/{ours}/unarchive")
    await someone.post(f"/api/v1/projects/{project}/archive")
    shown = (await someone.get(f"/api/v1/workspaces/{ours}/projects", archived="true"))["projects"]
    assert [one["id"] for one in shown] == [project]
    await someone.post(f"/api/v1/projects/{project}/unarchive")
    assert await submitted(someone, project)


async def test_a_project_is_changed_moved_and_found_by_its_key(cluster: Running, someone: Client) -> None:
    ours, theirs = await new_workspace(someone, "ours"), await new_workspace(someone, "theirs")
    project = await new_project(someone, ours, "first", key="one")
    assert (project["key"], (await new_project(someone, ours, "second"))["key"][:3]) == ("ONE", "SEC")
    path = f"/api/v1/projects/{project['id']}"
    change = {"name": "renamed", "description": "of people", "key": "uno"}
    changed = (await someone.call("PATCH", path, change)).body["project"]
    assert (changed["name"], changed["description"], changed["key"]) == ("renamed", "of people", "UNO")
    assert (await someone.get("/api/v1/projects/key/uno"))["project"]["id"] == project["id"]
    assert await status(someone, "/api/v1/projects/key/one") == 404
    taken = {"name": "third", "workspaceId": ours, "key": "ONE"}
    assert (await refused(someone, "POST", f"/api/v1/workspaces/{ours}/projects", taken))[0] == 409
    experiment = await submitted(someone, project["id"])
    moved = {"destinationWorkspaceId": theirs, "projectId": project["id"]}
    await someone.post(f"{path}/move", moved)
    assert (await someone.get(path))["project"]["workspaceName"] == "theirs"
    assert (await someone.get(f"/api/v1/experiments/{experiment}"))["experiment"]["workspaceId"] == theirs
    assert await refused(someone, "POST", f"{path}/move", {**moved, "destinationWorkspaceId": 1})


async def test_notes_are_added_and_replaced(someone: Client) -> None:
    note = {"name": "to do", "contents": "all of it"}
    assert (await someone.post("/api/v1/projects/1/notes", note))["notes"] == [note]
    assert (await someone.post("/api/v1/projects/1/notes", note))["notes"] == [note, note]
    wanted = {"notes": [{"name": "done", "contents": ""}], "projectId": 1}
    answer = await someone.call("PUT", "/api/v1/projects/1/notes", wanted)
    assert answer.body["notes"] == wanted["notes"]
    assert (await someone.get("/api/v1/projects/1"))["project"]["notes"] == wanted["notes"]


async def test_a_workspace_goes_with_its_projects_and_all_their_experiments(cluster: Running, someone: Client) -> None:
    ours, kept = await new_workspace(someone, "ours"), await new_workspace(someone, "kept")
    projects = [(await new_project(someone, ours, name))["id"] for name in ("full", "empty")]
    experiments = [await submitted(someone, projects[0]) for _ in range(3)]
    elsewhere = await submitted(someone, (await new_project(someone, kept, "first"))["id"])
    for name, workspace in (("goes", ours), ("stays", kept)):
        await someone.post(f"/api/v1/templates/{name}", {"config": {"max_restarts": 1}, "workspaceId": workspace})
        await someone.post("/api/v1/webhooks", webhook(name, workspace))
    deleted = (await someone.call("DELETE", f"/api/v1/workspaces/{ours}")).body
    assert deleted == {"completed": False}

    async def gone() -> int:
        return await status(someone, f"/api/v1/workspaces/{ours}")

    await cluster.until(gone, 404)
    for project in projects:
        assert await status(someone, f"/api/v1/projects/{project}") == 404
    for experiment in experiments:
        assert await status(someone, f"/api/v1/experiments/{experiment}") == 404
    assert await status(someone, f"/api/v1/experiments/{elsewhere}") == 200
    assert [one["name"] for one in (await someone.get("/api/v1/templates"))["templates"]] == ["stays"]
    assert [one["name"] for one in (await someone.get("/api/v1/webhooks"))["webhooks"]] == ["stays"]
    assert (await someone.call("DELETE", f"/api/v1/workspaces/{ours}")).status == 404


async def test_what_is_empty_is_gone_with_the_answer(someone: Client) -> None:
    ours = await new_workspace(someone, "ours")
    project = (await new_project(someone, ours, "empty"))["id"]
    assert (await someone.call("DELETE", f"/api/v1/projects/{project}")).body == {"completed": True}
    assert (await someone.call("DELETE", f"/api/v1/workspaces/{ours}")).body == {"completed": True}
    assert await status(someone, f"/api/v1/workspaces/{ours}") == 404


async def test_a_workspace_with_models_is_not_deleted(cluster: Running, someone: Client) -> None:
    ours = await new_workspace(someone, "ours")
    await someone.post("/api/v1/models", {"name": "digits", "workspaceId": ours})
    assert await refused(someone, "DELETE", f"/api/v1/workspaces/{ours}") == (
        400,
        f"workspace ({ours}) contains models; move or delete models first",
    )
    assert (await someone.get(f"/api/v1/workspaces/{ours}"))["workspace"]["state"] == "WORKSPACE_STATE_UNSPECIFIED"
    admin = await cluster.nobody.login("admin")
    assert (await refused(admin, "DELETE", "/api/v1/workspaces/1"))[0] == 409


async def test_the_workspaces_and_projects_of_others_are_for_administrators(cluster: Running, someone: Client) -> None:
    admin = await cluster.nobody.login("admin")
    theirs = await new_workspace(admin, "theirs")
    project = (await new_project(admin, theirs, "first"))["id"]
    for method, path in (
        ("DELETE", f"workspaces/{theirs}"),
        ("POST", f"workspaces/{theirs}/archive"),
        ("DELETE", f"projects/{project}"),
        ("POST", f"projects/{project}/archive"),
    ):
        assert (await refused(someone, method, f"/api/v1/{path}"))[0] == 403

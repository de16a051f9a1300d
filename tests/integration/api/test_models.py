"""The model registry over REST, with the directory and the checkpoint store behind the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import resolute.checkpoint.shell as checkpoint
from tests.integration.api import a_search
from tests.integration.api.running import Client, Running, running

VERSIONS = "/api/v1/models/digits/versions"


@pytest.fixture
async def cluster(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Running]:
    """With a search that has a complete checkpoint, and one that is being written."""
    async with running(postgres_dsn, services=(checkpoint.serve,)) as cluster:
        a_search.keep_files(tmp_path)
        await a_search.tell(cluster, tmp_path)
        yield cluster


@pytest.fixture
async def someone(cluster: Running) -> Client:
    """Who has the model `digits`."""
    someone = await cluster.nobody.login("determined")
    new = {"name": "digits", "description": "of people", "labels": ["vision", "vision"], "metadata": {"accuracy": 0.9}}
    await someone.post("/api/v1/models", new)
    return someone


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def register(client: Client, uuid: str = a_search.BEST, **said: Any) -> dict[str, Any]:
    body = {"modelName": "digits", "checkpointUuid": uuid, **said}
    version: dict[str, Any] = (await client.post(VERSIONS, body))["modelVersion"]
    return version


async def test_a_model_is_made_listed_and_found_by_its_name_or_its_id(someone: Client) -> None:
    model = (await someone.get("/api/v1/models/digits"))["model"]
    assert (model["id"], model["username"], model["workspaceId"], model["numVersions"]) == (1, "determined", 1, 0)
    assert (model["labels"], model["metadata"], model["archived"]) == (["vision"], {"accuracy": 0.9}, False)
    assert (await someone.get("/api/v1/models/1"))["model"] == model
    listed = await someone.get("/api/v1/models", labels="vision", sortBy="SORT_BY_NAME")
    assert (listed["models"], listed["pagination"]["total"]) == ([model], 1)
    assert (await someone.get("/api/v1/models", workspaceNames="elsewhere"))["models"] == []
    assert (await someone.get("/api/v1/model/labels"))["labels"] == ["vision"]
    assert await refused(someone, "GET", "/api/v1/models/letters") == (404, "model 'letters' not found")
    assert (await refused(someone, "POST", "/api/v1/models", {"name": "digits"}))[0] == 409
    assert (await refused(someone, "POST", "/api/v1/models", {"name": "a/b"}))[0] == 400
    unknown = {"name": "letters", "workspaceName": "elsewhere"}
    assert await refused(someone, "POST", "/api/v1/models", unknown) == (404, "workspace 'elsewhere' not found")


async def test_what_is_written_on_a_model_is_changed_field_by_field(someone: Client) -> None:
    path = "/api/v1/models/digits"
    answer = await someone.call("PATCH", path, {"notes": "kept", "labels": ["a", "b"], "description": None})
    changed = answer.body["model"]
    assert (changed["notes"], changed["labels"], changed["description"]) == ("kept", ["a", "b"], "of people")
    assert changed["metadata"] == {"accuracy": 0.9}
    answer = await someone.call("PATCH", path, {"name": "numbers", "metadata": {}, "labels": []})
    renamed = answer.body["model"]
    assert (renamed["name"], renamed["metadata"], renamed["labels"]) == ("numbers", {}, [])
    assert (await someone.call("GET", path)).status == 404


async def test_a_model_moves_between_workspaces(someone: Client) -> None:
    ours = (await someone.post("/api/v1/workspaces", {"name": "ours"}))["workspace"]["id"]
    await someone.call("PATCH", "/api/v1/models/digits", {"workspaceName": "ours"})
    assert (await someone.get("/api/v1/models/digits"))["model"]["workspaceId"] == ours
    back = {"destinationWorkspaceId": 1, "modelName": "digits"}
    await someone.post("/api/v1/models/digits/move", back)
    assert (await someone.get("/api/v1/models/digits"))["model"]["workspaceId"] == 1
    nowhere = {"destinationWorkspaceId": 99, "modelName": "digits"}
    assert (await refused(someone, "POST", "/api/v1/models/digits/move", nowhere))[0] == 404
    both = {"workspaceId": 1, "workspaceName": "ours"}
    status, error = await refused(someone, "PATCH", "/api/v1/models/digits", both)
    assert (status, error) == (400, "workspaceName: 'ours' is not the name of workspace 1; give one of the two")


async def test_a_complete_checkpoint_becomes_a_version_and_shows_what_it_is(someone: Client) -> None:
    first = await register(someone, name="first", comment="good", labels=["best"], metadata={"by": "ann"})
    assert (first["version"], first["name"], first["comment"], first["labels"]) == (1, "first", "good", ["best"])
    assert (first["checkpoint"]["uuid"], first["checkpoint"]["training"]["trialId"]) == (a_search.BEST, 1)
    assert first["model"]["numVersions"] == 1
    second = await register(someone)
    assert (second["version"], second["id"]) == (2, 2)
    listed = await someone.get(VERSIONS, orderBy="ORDER_BY_DESC")
    assert [version["version"] for version in listed["modelVersions"]] == [2, 1]
    assert listed["model"]["name"] == "digits"
    changed = await someone.call("PATCH", f"{VERSIONS}/2", {"name": "second", "notes": "n"})
    assert (changed.body["modelVersion"]["name"], changed.body["modelVersion"]["comment"]) == ("second", "")
    assert (await someone.get(f"{VERSIONS}/2"))["modelVersion"] == changed.body["modelVersion"]
    status, error = await refused(someone, "PATCH", f"{VERSIONS}/2", {"checkpoint": {"uuid": a_search.BEGUN}})
    assert (status, error.partition(":")[0]) == (400, "checkpoint")
    assert (await refused(someone, "GET", f"{VERSIONS}/7"))[0] == 404


@pytest.mark.parametrize(
    ("uuid", "status", "error"),
    [
        (a_search.BEGUN, 409, "it is ACTIVE; use one that is COMPLETED"),
        (a_search.DROPPED, 409, "it is DELETED"),
        ("44444444-4444-4444-8444-444444444444", 404, "not found"),
    ],
    ids=["being written", "deleted", "unknown"],
)
async def test_what_is_no_complete_checkpoint_becomes_no_version(
    someone: Client, uuid: str, status: int, error: str
) -> None:
    found, said = await refused(someone, "POST", VERSIONS, {"modelName": "digits", "checkpointUuid": uuid})
    assert (found, error in said) == (status, True), said


async def test_an_archived_model_is_left_as_it_is(someone: Client) -> None:
    await register(someone)
    await someone.post("/api/v1/models/digits/archive")
    assert (await someone.get("/api/v1/models", archived="true"))["pagination"]["total"] == 1
    for method, path, body in (
        ("PATCH", "/api/v1/models/digits", {"notes": "n"}),
        ("PATCH", f"{VERSIONS}/1", {"notes": "n"}),
        ("POST", VERSIONS, {"modelName": "digits", "checkpointUuid": a_search.BEST}),
    ):
        status, error = await refused(someone, method, path, body)
        assert (status, "the model is archived" in error) == (409, True)
    await someone.post("/api/v1/models/digits/unarchive")
    await someone.call("PATCH", "/api/v1/models/digits", {"notes": "n"})
    assert (await someone.get("/api/v1/models/digits"))["model"]["notes"] == "n"


async def test_a_registered_checkpoint_stays_until_its_version_is_deleted(
    cluster: Running, someone: Client, tmp_path: Path
) -> None:
    files = tmp_path / a_search.BEST
    await register(someone)
    asked = {"checkpoints": [{"uuid": a_search.BEST}], "checkpointUuids": [a_search.BEST]}
    status, error = await refused(someone, "DELETE", "/api/v1/checkpoints", asked)
    assert (status, "it is registered as version 1 of model 'digits'" in error) == (409, True), error
    assert files.exists()
    other = await cluster.nobody.login("admin")
    other_user = {"username": "eve", "active": True, "admin": False}
    await other.post("/api/v1/users", {"user": other_user, "password": "s"})
    eve = await cluster.nobody.login("eve", "s")
    assert (await eve.call("DELETE", f"{VERSIONS}/1")).status == 403
    assert (await eve.call("DELETE", "/api/v1/models/digits")).status == 403
    assert (await someone.call("DELETE", f"{VERSIONS}/1")).status == 200
    assert (await someone.get(VERSIONS))["modelVersions"] == []
    assert files.exists(), "nothing deletes it by itself"
    assert (await someone.call("DELETE", "/api/v1/checkpoints", asked)).status == 200


async def test_a_deleted_model_is_gone_with_its_versions_and_its_checkpoints_stay(
    someone: Client, tmp_path: Path
) -> None:
    await register(someone)
    assert (await someone.call("DELETE", "/api/v1/models/digits")).body == {}
    assert (await someone.call("GET", VERSIONS)).status == 404
    assert (tmp_path / a_search.BEST).exists()
    again = (await someone.post("/api/v1/models", {"name": "digits"}))["model"]
    assert (again["id"], again["numVersions"]) == (2, 0), "the name is free again, and no number is given twice"

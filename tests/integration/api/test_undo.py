"""`resolute undo` against a gateway with the services behind it: what is changed, shown, put back, and by whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from resolute.api.gateway import Gateway
from resolute.api.routing import Principal
from resolute.api.scope import EVERYWHERE, Held
from resolute.cli.main import resolute
from tests.integration.api.running import Client
from tests.integration.api.whole import Whole, whole

REQUESTS = "/api/v1/change-requests"


@pytest.fixture
async def cluster(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        yield cluster


async def newest(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(REQUESTS, limit=1))["requests"][0]
    return found


async def test_a_template_that_was_removed_and_a_workspace_that_was_archived_come_back(cluster: Whole) -> None:
    user = cluster.user
    await user.post("/api/v1/templates/small", {"name": "small", "config": {"max_restarts": 3}, "workspaceId": 1})
    made = (await user.post("/api/v1/workspaces", {"name": "lab"}))["workspace"]["id"]
    await user.post(f"/api/v1/workspaces/{made}/archive", {})
    archived = await newest(user)
    assert (archived["says"], archived["changes"]) == (f"workspace {made} was archived", 1)
    [change] = (await user.get(f"{REQUESTS}/{archived['id']}"))["changes"]
    assert (change["kind"], change["thing"], change["property"]) == ("workspace", str(made), "archived")
    assert (change["now"], change["before"], change["obstacle"]) == (True, False, "")
    await user.call("DELETE", "/api/v1/templates/small")
    removed = await newest(user)
    [change] = (await user.get(f"{REQUESTS}/{removed['id']}"))["changes"]
    assert change["properties"]["config"] == {"max_restarts": 3}


async def test_the_command_shows_what_it_would_do_and_then_does_it(
    cluster: Whole, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    user = cluster.user
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DET_MASTER", user.base)
    monkeypatch.setenv("DET_USER", "determined")
    monkeypatch.setenv("DET_PASS", "")
    made = (await user.post("/api/v1/workspaces", {"name": "lab"}))["workspace"]["id"]
    await user.call("PATCH", f"/api/v1/workspaces/{made}", {"name": "attic"})
    request = (await newest(user))["id"]

    async def said(*words: str) -> tuple[int, str]:
        code = await asyncio.to_thread(resolute, ["undo", *words])
        return code, capsys.readouterr().out

    code, listed = await said("--json")
    assert (code, json.loads(listed)[0]["id"]) == (0, request)
    code, preview = await said(request, "--dry-run")
    assert code == 0
    assert f'set the name of workspace {made} to "lab"' in preview
    assert (await user.get(f"/api/v1/workspaces/{made}"))["workspace"]["name"] == "attic", "a preview changes nothing"
    code, done = await said(request, "--yes")
    assert (code, done.splitlines()[-1]) == (0, f"Put back 1 change of request {request}.")
    assert (await user.get(f"/api/v1/workspaces/{made}"))["workspace"]["name"] == "lab"
    _, again = await said(request, "--yes")
    assert "has changed it since" in again


async def test_users_see_their_own_requests_and_administrators_all(cluster: Whole) -> None:
    made = (await cluster.user.post("/api/v1/workspaces", {"name": "lab"}))["workspace"]["id"]
    await cluster.user.post(f"/api/v1/workspaces/{made}/archive", {})
    mine = await newest(cluster.user)
    admin = await cluster.nobody.login("admin")
    assert mine["id"] in {one["id"] for one in (await admin.get(REQUESTS))["requests"]}
    assert (await admin.get(REQUESTS, actor="nobody"))["requests"] == []
    await admin.post("/api/v1/users", {"user": {"username": "eve", "active": True}, "password": "Fountain-Pen-9"})
    eve = await cluster.nobody.login("eve", "Fountain-Pen-9")
    assert (await eve.get(REQUESTS))["requests"] == []
    assert (await eve.call("GET", f"{REQUESTS}/{mine['id']}")).status == 404
    assert (await cluster.nobody.call("GET", REQUESTS)).status == 401


@dataclass
class OnlyIn:
    """Grants that hold in these workspaces only; `None` for all."""

    workspaces: frozenset[int] | None = None
    by_roles = True

    async def held(self, user: Principal, permissions: Collection[str]) -> Mapping[str, Held]:
        return dict.fromkeys(permissions, EVERYWHERE if self.workspaces is None else self.workspaces)


async def test_nobody_sees_a_change_of_what_lies_outside_of_the_scope(
    cluster: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even whoever made it, once the right to see the thing is gone."""
    grants = OnlyIn()
    monkeypatch.setattr(Gateway, "grants", grants)
    made = (await cluster.user.post("/api/v1/workspaces", {"name": "lab"}))["workspace"]["id"]
    await cluster.user.post(f"/api/v1/workspaces/{made}/archive", {})
    hidden = await newest(cluster.user)
    await cluster.user.post("/api/v1/templates/small", {"name": "small", "config": {}, "workspaceId": 1})
    grants.workspaces = frozenset({1})
    [seen] = (await cluster.user.get(REQUESTS))["requests"]
    assert seen["says"].startswith("template")
    assert len((await cluster.user.get(f"{REQUESTS}/{seen['id']}"))["changes"]) == 1
    assert (await cluster.user.call("GET", f"{REQUESTS}/{hidden['id']}")).status == 404

"""Access tokens over REST: made by administrators, used by scripts, revoked at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.integration.api.running import Client, running

PATH = "/api/v1/tokens"


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def made(client: Client, user_id: int, **said: Any) -> tuple[int, str]:
    answer = await client.post(PATH, {"userId": user_id, **said})
    return int(answer["tokenId"]), answer["token"]


async def test_a_token_signs_in_as_its_user_until_it_is_revoked(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        token_id, text = await made(admin, 2, description="nightly", lifespan="48h")
        script = replace(cluster.nobody, token=text)
        assert (await script.get("/api/v1/me"))["user"]["username"] == "determined"
        [shown] = (await admin.get(PATH))["tokenInfo"]
        assert (shown["id"], shown["userId"], shown["description"]) == (token_id, 2, "nightly")
        assert (shown["tokenType"], shown["revoked"]) == ("TOKEN_TYPE_ACCESS_TOKEN", False)
        assert shown["expiry"] > shown["createdAt"]
        assert text not in str(await admin.get(PATH))

        workspace = (await script.post("/api/v1/workspaces", {"name": "by a script"}))["workspace"]["id"]
        history = (await admin.get("/api/v1/log/events", stream="workspace-directory"))["events"]
        assert [one["actor"] for one in history if one["type"] == "WorkspaceCreated"][-1] == (
            f"determined (access token {token_id})"
        )
        assert workspace
        await script.post("/api/v1/auth/logout")
        assert (await script.call("GET", "/api/v1/me")).status == 200, "a token has no session to end"

        changed = await admin.call("PATCH", f"{PATH}/{token_id}", {"description": "weekly"})
        assert changed.body["tokenInfo"]["description"] == "weekly"
        revoked = await admin.call("PATCH", f"{PATH}/{token_id}", {"setRevoked": True})
        assert revoked.body["tokenInfo"]["revoked"] is True
        status, why = await refused(script, "GET", "/api/v1/me")
        assert (status, why) == (401, "user access token revoked: create another one, or log in")
        assert (await admin.get(PATH))["tokenInfo"] == []
        assert [one["id"] for one in (await admin.get(PATH, showInactive="true"))["tokenInfo"]] == [token_id]
        status, why = await refused(admin, "PATCH", f"{PATH}/{token_id}", {"description": "x"})
        assert (status, why.partition(":")[0]) == (409, f"unable to update inactive token with ID {token_id}")


async def test_administrators_make_tokens_and_everybody_sees_their_own(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        (first, _), (second, _) = await made(admin, 1), await made(admin, 2, lifespan="-1")
        assert [one["id"] for one in (await admin.get(PATH))["tokenInfo"]] == [first, second]
        assert [one["id"] for one in (await someone.get(PATH))["tokenInfo"]] == [second]
        assert [one["id"] for one in (await admin.get(PATH, username="admin"))["tokenInfo"]] == [first]
        assert [one["id"] for one in (await someone.get(PATH, tokenIds=str(first)))["tokenInfo"]] == []
        assert (await refused(someone, "POST", PATH, {"userId": 2}))[0] == 403
        assert (await refused(someone, "PATCH", f"{PATH}/{second}", {"setRevoked": True}))[0] == 403


async def test_what_cannot_be_is_refused_by_its_name(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        for lifespan, said in (
            ("721h", "lifespan: token Lifespan must be less than max token lifespan"),
            ("0s", "lifespan: token Lifespan must be less than max token lifespan"),
            ("soon", "lifespan: expected a duration such as 30s, 5m or 1h30m; found 'soon', or -1 for the longest"),
        ):
            status, why = await refused(admin, "POST", PATH, {"userId": 1, "lifespan": lifespan})
            assert status == 400
            assert why.startswith(said)
        assert await refused(admin, "POST", PATH, {"userId": 99}) == (404, "userId: user 99 not found")
        assert await refused(admin, "PATCH", f"{PATH}/9", {}) == (404, "Token with id: 9 not found")
        stranger = replace(cluster.nobody, token="rat~made-up")
        assert (await stranger.call("GET", "/api/v1/me")).status == 401


async def test_a_token_counts_for_nothing_once_its_user_is_deactivated(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        _, text = await made(admin, 2)
        script = replace(cluster.nobody, token=text)
        assert (await script.call("GET", "/api/v1/me")).status == 200
        await admin.call("PATCH", "/api/v1/users/2", {"active": False})
        assert (await script.call("GET", "/api/v1/me")).status == 401
        assert (await refused(admin, "POST", PATH, {"userId": 2}))[1].endswith("is not active; activate the user first")

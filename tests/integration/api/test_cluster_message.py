"""The cluster's message over REST."""

from __future__ import annotations

from typing import Any

from tests.integration.api.running import Client, running

PATH = "/api/v1/master/cluster_message"
FAR = "2999-01-01T00:00:00Z"


async def refused(client: Client, body: Any) -> tuple[int, str]:
    answer = await client.call("PUT", PATH, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def test_administrators_show_everybody_a_message_from_its_start_to_its_end(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        assert await admin.get(PATH) == {}
        assert (await admin.call("PUT", PATH, {"message": "maintenance", "duration": "24h"})).status == 200
        shown = (await cluster.nobody.get("/api/v1/master"))["clusterMessage"]
        assert shown["message"] == "maintenance"
        assert shown["endTime"] > shown["startTime"]
        assert (await admin.get(PATH))["clusterMessage"] == shown

        await admin.call("PUT", PATH, {"message": "later", "startTime": FAR})
        assert "clusterMessage" not in await someone.get("/api/v1/master"), "its time is still to come"
        later = (await admin.get(PATH))["clusterMessage"]
        assert (later["message"], later["startTime"], "endTime" in later) == ("later", FAR, False)

        await admin.call("DELETE", PATH)
        assert await admin.get(PATH) == {}

        for method in ("GET", "PUT", "DELETE"):
            assert (await someone.call(method, PATH, None if method == "GET" else {"message": "m"})).status == 403
        both = {"message": "m", "duration": "1h", "endTime": FAR}
        assert await refused(admin, both) == (400, "duration: found beside endTime; give one of the two")
        assert (await refused(admin, {"message": "m", "duration": "2w"}))[1].startswith("duration: expected a duration")
        assert (await refused(admin, {"message": "m", "duration": f"{10**9}h"}))[1].startswith("duration: expected")
        assert (await refused(admin, {"message": ""}))[1].startswith("message: expected 1 to 250 characters")

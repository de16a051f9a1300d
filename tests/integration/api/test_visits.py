"""The projects that a user looked at last, over REST."""

from __future__ import annotations

from typing import Any

from resolute.proto import streams
from tests.integration.api.running import Client, running

PATH = "/api/v1/users/activity"
RECENT = "/api/v1/user/projects/activity"


def visit(project_id: int, **other: Any) -> dict[str, Any]:
    whole = {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT", "entityId": project_id}
    return {**whole, **other}


async def recent(client: Client, **query: Any) -> list[str]:
    return [project["name"] for project in (await client.get(RECENT, **query))["projects"]]


async def test_the_projects_that_were_visited_last_come_first(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        ann, bob = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        workspace = (await ann.post("/api/v1/workspaces", {"name": "vision"}))["workspace"]["id"]
        made = {}
        for name in ("digits", "letters"):
            new = {"name": name, "workspaceId": workspace}
            made[name] = (await ann.post(f"/api/v1/workspaces/{workspace}/projects", new))["project"]["id"]
        assert await recent(ann) == []
        for name in ("digits", "letters", "letters", "letters"):
            await ann.post(PATH, visit(made[name]))
        assert await recent(ann) == ["letters", "digits"]
        assert await recent(ann, limit=1) == ["letters"]
        assert await recent(bob) == []
        recorded = await cluster.log.read_stream(streams.VISITS.stream(1))
        assert len(recorded) == 2, "a page that reports again and again does not fill the log"

        await ann.call("DELETE", f"/api/v1/projects/{made['letters']}")
        assert await recent(ann) == ["digits"]


async def test_a_report_that_means_nothing_is_refused_by_its_field(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        ann = await cluster.nobody.login("determined")
        for body, status, said in (
            (visit(1, activityType="ACTIVITY_TYPE_UNSPECIFIED"), 400, "activityType: expected ACTIVITY_TYPE_GET"),
            (visit(1, entityType="ENTITY_TYPE_UNSPECIFIED"), 400, "entityType: expected ENTITY_TYPE_PROJECT"),
            (visit(1, entityType="ENTITY_TYPE_MOON"), 400, "entityType: "),
            (visit(99), 404, "project"),
        ):
            answer = await ann.call("POST", PATH, body)
            assert (answer.status, said in answer.error) == (status, True), answer.body
        assert (await ann.call("GET", RECENT, params={"limit": "101"})).status == 400

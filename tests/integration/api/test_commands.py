"""Commands through a gateway, with the services behind it and an agent that does what the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resolute.proto.interactive import TaskEnded
from tests.integration.api.whole import Whole, whole

COMMANDS = "/api/v1/commands"


@pytest.fixture
async def cluster(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        yield cluster


async def launched(cluster: Whole, **config: Any) -> dict[str, Any]:
    answer = await cluster.user.post(COMMANDS, {"config": {"entrypoint": ["echo", "hello"], **config}})
    command: dict[str, Any] = answer["command"]
    return command


async def test_a_command_is_launched_runs_on_an_agent_and_ends_with_its_exit_code(cluster: Whole) -> None:
    agent = await cluster.agent()
    async with agent.alive():
        command = await launched(cluster, resources={"slots": 0}, description="hello")
        assert (command["description"], command["state"]) == ("hello", "STATE_QUEUED")
        order = await agent.given()
        assert order.spec.task_type == "COMMAND"
        assert order.spec.config["entrypoint"] == ["echo", "hello"]
        await agent.report(order, "started")
        task = cluster.known_as(order.token)
        context = await task.get(f"/api/v1/tasks/{command['id']}/context_directory")
        assert context["b64Tgz"] == ""
        [allocation] = (await cluster.user.get(f"/api/v1/tasks/{command['id']}"))["task"]["allocations"]
        assert not allocation["isReady"], "it has not said so"
        ready = f"/api/v1/allocations/{allocation['allocationId']}/ready"
        for _ in range(2):  # a report that comes again has no effect
            await task.post(ready, {"allocationId": allocation["allocationId"]})
        [allocation] = (await cluster.user.get(f"/api/v1/tasks/{command['id']}"))["task"]["allocations"]
        assert allocation["isReady"]
        await agent.report(order, "exited", 3)
        await cluster.until_told(TaskEnded)

        async def ended() -> bool:
            shown = (await cluster.user.get(f"{COMMANDS}/{command['id']}"))["command"]
            return bool(shown["state"] == "STATE_TERMINATED")

        await cluster.until(ended)
        [allocation] = (await cluster.user.get(f"/api/v1/tasks/{command['id']}"))["task"]["allocations"]
        assert allocation["statusCode"] == 3


async def test_a_command_that_waits_is_listed_prioritized_and_killed(cluster: Whole) -> None:
    agent = await cluster.agent(slots=1)
    async with agent.alive():
        first, second = await launched(cluster), await launched(cluster)
        listed = (await cluster.user.get(COMMANDS, sortBy="SORT_BY_START_TIME"))["commands"]
        assert [one["id"] for one in listed] == [first["id"], second["id"]]
        await cluster.user.post(f"{COMMANDS}/{second['id']}/set_priority", {"priority": 7})
        await cluster.user.post(f"{COMMANDS}/{second['id']}/kill", {})
        [ended] = await cluster.until_told(TaskEnded)
        assert ended.outcome in ("killed", "yielded")

        async def only_the_first_is_left() -> bool:
            live = (await cluster.user.get("/api/v1/tasks"))["allocationIdToSummary"]
            return set(live) == {f"{first['id']}.1"}

        await cluster.until(only_the_first_is_left)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"entrypoint": []}, "entrypoint: missing"),
        ({"entrypoint": ["true"], "colour": "red"}, "colour: unknown field"),
        ({"entrypoint": ["true"], "resources": {"slots": 99}}, "resources.slots"),
        ({"entrypoint": ["true"], "resources": {"resource_pool": "moon"}}, "resources.resource_pool: no pool 'moon'"),
    ],
)
async def test_a_configuration_that_cannot_be_is_refused_by_its_field(
    cluster: Whole, config: dict[str, Any], said: str
) -> None:
    await cluster.agent()
    answer = await cluster.user.call("POST", COMMANDS, {"config": config})
    assert answer.status == 400
    assert said in answer.error

"""Pools that come and go, agents that move between them and are switched off: as people see it over REST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import resolute.scheduler.shell
from resolute.proto.pool import AllocationKillRequested, SlotsAssigned
from tests.integration.api.whole import Agent, Whole, whole

CONFIG = """
name: a
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 2, resource_pool: main}
max_restarts: 0
"""

CONTINUE, ACTIVATE = "/api/v1/experiments/continue", "/api/v1/experiments/1/activate"


@pytest.fixture
async def cluster(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Whole]:
    """Two pools, main and other; an agent of two slots in main."""
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", "main,other")
    async with whole(postgres_dsn, nats_url, tmp_path, pools="main,other", default_pool="other") as cluster:
        await cluster.agent(slots=2, pool="main")
        yield cluster


async def restarted(cluster: Whole, monkeypatch: pytest.MonkeyPatch, *pools: str) -> None:
    """The cluster, started again with other pools."""
    await cluster.stop("api")
    await cluster.stop("scheduler")
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", ",".join(pools))
    cluster.settings = type(cluster.settings)(**{**dict(cluster.settings), "pools": ",".join(pools)})
    await cluster.start("scheduler", resolute.scheduler.shell.serve(cluster.context))
    await cluster.start_gateway()


async def moved(agent: Agent, pool: str) -> Agent:
    agent.pool = pool
    await agent.hello()
    return agent


async def state(cluster: Whole) -> str:
    return str((await cluster.user.get("/api/v1/experiments/1"))["experiment"]["state"])


async def shown(cluster: Whole) -> dict[str, Any]:
    """The one agent."""
    [agent] = (await cluster.user.get("/api/v1/agents"))["agents"]
    return dict(agent)


async def pools(cluster: Whole) -> dict[str, dict[str, Any]]:
    return {pool["name"]: pool for pool in (await cluster.user.get("/api/v1/resource-pools"))["resourcePools"]}


async def says(cluster: Whole) -> str:
    return str((await cluster.user.get("/api/v1/jobs/1/explain"))["says"])


async def test_an_agent_that_moved_is_shown_with_its_slots_in_the_pool_where_it_is(cluster: Whole) -> None:
    [agent] = cluster.agents
    admin = await cluster.nobody.login("admin")
    await admin.post("/api/v1/agents/agent-0/slots/1/disable")
    for pool, away in (("other", "main"), ("main", "other"), ("other", "main")):
        await moved(agent, pool)

        async def is_shown_there(pool: str = pool) -> bool:
            agents = (await cluster.user.get("/api/v1/agents"))["agents"]
            return [agent["resourcePools"] for agent in agents] == [[pool]]

        await cluster.until(is_shown_there)
        slots = (await shown(cluster))["slots"]
        assert [slot["enabled"] for slot in slots.values()] == [True, pool == "other"], "as it was left in each pool"
        seen = await pools(cluster)
        assert (seen[pool]["numAgents"], seen[pool]["slotsAvailable"], seen[away]["numAgents"]) == (1, 2, 0)
        body: dict[str, Any] = {
            "config": CONFIG.replace("main", pool).replace("per_trial: 2", "per_trial: 1"),
            "validateOnly": True,
        }
        body["modelDefinition"] = [{"path": "train.py", "type": 48, "content": "", "mode": 420}]
        assert (await cluster.user.post("/api/v1/experiments", body))["warnings"] == []


async def test_disabling_an_agent_ends_what_it_runs_now_and_costs_the_trial_no_restart(cluster: Whole) -> None:
    await cluster.submit(config=CONFIG)
    [agent] = cluster.agents
    order, _ = await cluster.task(agent)
    admin = await cluster.nobody.login("admin")
    drained = (await admin.post("/api/v1/agents/agent-0/disable", {"drain": True}))["agent"]
    assert (drained["enabled"], drained["draining"]) == (False, True)
    assert [(slot["enabled"], slot["draining"]) for slot in drained["slots"].values()] == [(False, True)] * 2
    assert await cluster.told(AllocationKillRequested) == []
    [kind] = drained["slotStats"]["typeStats"].values()
    assert (kind["disabled"], kind["draining"], kind["total"]) == (2, 2, 2)

    disabled = (await admin.post("/api/v1/agents/agent-0/disable"))["agent"]
    assert (disabled["enabled"], disabled["draining"]) == (False, False)
    assert [(slot["enabled"], slot["draining"]) for slot in disabled["slots"].values()] == [(False, False)] * 2
    [asked] = await cluster.told(AllocationKillRequested)
    assert asked.reason == "agent agent-0 was disabled"
    await agent.report(order, "exited", exit_code=137)
    second = await cluster.agent(slots=2, pool="main")
    again, _ = await cluster.task(second)
    assert (again.spec.trial_id, again.spec.run_id) == (1, 2)
    assert (await cluster.user.get("/api/v1/trials/1"))["trial"]["restarts"] == 0


async def test_work_of_a_pool_that_is_away_waits_can_be_stopped_and_goes_on_when_the_pool_is_back(
    cluster: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.submit(config=CONFIG)
    [agent] = cluster.agents
    await cluster.task(agent)
    await restarted(cluster, monkeypatch, "other")
    await moved(agent, "other")

    async def waits() -> bool:
        return "without pool 'main' (there are other)" in await says(cluster)

    await cluster.until(waits)
    assert (await pools(cluster))["main"]["description"].startswith("not among the pools")
    trial = (await cluster.user.get("/api/v1/trials/1"))["trial"]
    assert (trial["restarts"], trial["state"]) == (0, "STATE_QUEUED")

    await cluster.user.post("/api/v1/experiments/1/pause")
    assert await state(cluster) == "STATE_PAUSED"
    answer = await cluster.user.call("POST", ACTIVATE)
    assert (answer.status, "no pool 'main'; there are other" in answer.error) == (400, True), answer.body
    many = await cluster.user.post("/api/v1/projects/-1/experiments/activate", {"experimentIds": [1]})
    assert "no pool 'main'" in many["results"][0]["error"]
    assert await state(cluster) == "STATE_PAUSED"

    await restarted(cluster, monkeypatch, "main", "other")
    await cluster.user.post(ACTIVATE)
    await moved(agent, "main")
    order, _ = await cluster.task(agent)
    assert (order.spec.trial_id, order.spec.run_id > 1) == (1, True)
    await agent.report(order, "exited", exit_code=0)

    async def has_completed() -> bool:
        return await state(cluster) == "STATE_COMPLETED"

    await cluster.until(has_completed)


async def test_what_runs_where_the_pool_is_away_is_killed_when_a_person_says_so_and_its_slots_are_free(
    cluster: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.submit(config=CONFIG)
    [agent] = cluster.agents
    order, _ = await cluster.task(agent)
    await restarted(cluster, monkeypatch, "other")
    await cluster.user.post("/api/v1/experiments/1/kill")
    assert len(await cluster.until_told(AllocationKillRequested)) == 1
    await agent.report(order, "exited", exit_code=137)

    async def is_canceled() -> bool:
        return await state(cluster) == "STATE_CANCELED"

    await cluster.until(is_canceled)
    await restarted(cluster, monkeypatch, "main", "other")
    await cluster.submit(config=CONFIG)

    assert len(await cluster.until_told(SlotsAssigned, 2)) == 2


async def test_an_experiment_whose_pool_is_gone_is_not_continued_and_stays_as_it_ended(
    cluster: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.submit(config=CONFIG)
    [agent] = cluster.agents
    order, _ = await cluster.task(agent)
    await agent.report(order, "exited", exit_code=0)

    async def has_completed() -> bool:
        return await state(cluster) == "STATE_COMPLETED"

    await cluster.until(has_completed)
    await restarted(cluster, monkeypatch, "other")
    for path, body in ((CONTINUE, {"id": 1, "overrideConfig": ""}), ("/api/v1/experiments", {"parentId": 1})):
        answer = await cluster.user.call("POST", path, {"config": CONFIG, **body})
        assert answer.status == 400
        assert "resources.resource_pool: no pool 'main'; there are other" in answer.error
    assert await state(cluster) == "STATE_COMPLETED"
    body = {"id": 1, "overrideConfig": "resources: {resource_pool: other}"}
    assert (await cluster.user.post(CONTINUE, body))["experiment"]["resourcePool"] == "other"


async def test_every_workspace_may_use_every_pool(cluster: Whole) -> None:
    path = "/api/v1/workspaces/1/available-resource-pools"
    found = await cluster.user.get(path)
    assert (found["resourcePools"], found["pagination"]["total"]) == (["main", "other"], 2)
    assert (await cluster.user.get(f"{path}?offset=1&limit=1"))["resourcePools"] == ["other"]
    missing = await cluster.user.call("GET", "/api/v1/workspaces/99/available-resource-pools")
    assert (missing.status, missing.error) == (404, "workspace 99 not found")
    bound = await cluster.user.get("/api/v1/resource-pools/main/workspace-bindings")
    assert (bound["workspaceIds"], bound["pagination"]["total"]) == ([], 0)
    unknown = await cluster.user.call("GET", "/api/v1/resource-pools/attic/workspace-bindings")
    assert (unknown.status, unknown.error) == (404, "resource pool attic not found")

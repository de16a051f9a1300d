"""What tasks say of themselves: that a part only serves the others, and that their host takes the slots away."""

from __future__ import annotations

from pathlib import Path

from resolute.proto.pool import AllocationExited, PreemptionRequested, ResourcesServeOthers
from tests.integration.api.whole import whole


async def test_a_daemon_ends_with_the_resources_that_it_serves(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agents = [await cluster.agent(), await cluster.agent()]
        await cluster.submit(slots=2)
        orders = {agent.name: await agent.given() for agent in agents}
        for agent in agents:
            await agent.report(orders[agent.name], "started")
        chief, other = sorted(agents, key=lambda agent: orders[agent.name].rank)
        order = orders[other.name]
        allocation, trial = f"/api/v1/allocations/{order.spec.allocation_id}", cluster.known_as(order.token)
        daemon = f"{allocation}/resources/{order.placement.resources_id}/daemon"
        for _ in range(2):
            assert await trial.post(daemon) == {}
        assert len(await cluster.told(ResourcesServeOthers)) == 1

        first = f"{allocation}/resources/{orders[chief.name].placement.resources_id}/daemon"
        answer = await trial.call("POST", first)
        assert (answer.status, "leave one of them unmarked" in answer.error) == (409, True)
        assert (await trial.call("POST", f"{allocation}/resources/r/daemon")).status == 404

        await chief.report(orders[chief.name], "exited", exit_code=0)
        await other.report(order, "exited", exit_code=137)
        [ended] = await cluster.told(AllocationExited)
        assert (ended.outcome, ended.exit_code) == ("exited", 0), "the code of a daemon counts for nothing"


async def test_a_task_whose_host_takes_its_slots_is_asked_to_save_and_goes_on_later(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        signals = f"/api/v1/allocations/{order.spec.allocation_id}/signals"
        body = {"allocationId": order.spec.allocation_id}
        for _ in range(2):
            assert await trial.post(f"{signals}/pending_preemption", body) == {}
        [asked] = await cluster.told(PreemptionRequested)
        assert "slots are taken away" in asked.reason
        assert (await trial.get(f"{signals}/preemption", timeoutSeconds=20))["preempt"]
        await trial.post(f"{signals}/ack_preemption", body)
        await agent.report(order, "exited", exit_code=0)
        again = await agent.given()
        assert (again.spec.trial_id, again.spec.run_id) == (order.spec.trial_id, 2)


async def test_a_container_that_another_scheduler_started_says_that_it_runs(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        path = f"/api/v1/allocations/{order.spec.allocation_id}/notify_container_running"
        body = {"allocationId": order.spec.allocation_id, "numPeers": 2, "rank": 1, "nodeName": "n", "data": {}}
        assert await trial.post(path, body) == {"data": []}
        answer = await trial.call("POST", path, {**body, "rank": 2})
        assert (answer.status, answer.error) == (400, "rank: expected a number below numPeers (2); found 2")
        assert (await cluster.user.call("POST", path, body)).status == 403

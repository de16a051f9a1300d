"""What a running task waits for at the gateway: preemption, its peers, and what they bring."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from resolute.api.body_kinds import SHARE
from resolute.api.call import Call
from resolute.api.gateway import Gateway
from resolute.api.tasks import lookup
from resolute.api.tasks.queries import AllocationRow
from resolute.proto.pool import AllocationKillRequested, PreemptAllocation, PreemptionAcknowledged
from tests.integration.api.running import PATIENCE_S
from tests.integration.api.whole import POOL, Whole, whole


def preemption(allocation_id: str, timeout_s: int) -> str:
    return f"/api/v1/allocations/{allocation_id}/signals/preemption?timeoutSeconds={timeout_s}"


@pytest.mark.alone
async def test_a_wish_for_its_slots_reaches_a_waiting_trial_at_once(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent, took_s = await cluster.agent(slots=3), list[float]()
        for number in range(3):
            await cluster.submit()
            order, trial = await cluster.task(agent)
            allocation_id = order.spec.allocation_id
            assert await trial.get(preemption(allocation_id, 0)) == {"preempt": False}
            waiting = asyncio.create_task(trial.get(preemption(allocation_id, 60)))
            await asyncio.sleep(0.1)
            asked_at = time.perf_counter()
            await cluster.ask(PreemptAllocation(POOL, allocation_id, "a test wants the slot"), f"preempt-{number}")
            assert await asyncio.wait_for(waiting, PATIENCE_S) == {"preempt": True}
            took_s.append(time.perf_counter() - asked_at)
            signals = f"/api/v1/allocations/{allocation_id}/signals"
            await trial.post(f"{signals}/ack_preemption", {"allocationId": allocation_id})
        # Milliseconds; a machine that is busy with other things holds some of them up. Who heard no news would look by
        # himself after 5 s.
        assert min(took_s) < 2, took_s
        assert len(await cluster.told(PreemptionAcknowledged)) == 3


async def test_a_wish_that_comes_while_the_gateway_looks_is_not_overheard(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        look, looked = lookup.allocation, list[AllocationRow]()

        async def look_slowly(gateway: Gateway, allocation_id: str) -> AllocationRow:
            found = await look(gateway, allocation_id)
            looked.append(found)
            if len(looked) == 1:
                before = gateway.signals.heard(allocation_id)
                await cluster.ask(PreemptAllocation(POOL, allocation_id, "a test wants the slot"), "preempt")
                await cluster.until(lambda: gateway.signals.heard(allocation_id) > before)
            return found

        monkeypatch.setattr(lookup, "allocation", look_slowly)
        began = time.perf_counter()
        assert await trial.get(preemption(order.spec.allocation_id, 60)) == {"preempt": True}
        assert time.perf_counter() - began < 30
        assert len(looked) == 2


async def test_a_wait_that_ends_without_news_says_so(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        began = time.perf_counter()
        assert await trial.get(preemption(order.spec.allocation_id, 1)) == {"preempt": False}
        assert 0.9 < time.perf_counter() - began < 30
        answer = await trial.call("GET", preemption(order.spec.allocation_id, 601))
        assert (answer.status, answer.error.partition(":")[0]) == (400, "timeoutSeconds")


async def test_a_trial_that_was_killed_is_told_to_leave(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        waiting = asyncio.create_task(trial.get(preemption(order.spec.allocation_id, 60)))
        await asyncio.sleep(0.1)
        await cluster.user.post("/api/v1/experiments/1/kill")
        await cluster.until_told(AllocationKillRequested)  # else the exit below would be one of its own accord
        await agent.report(order, "exited", exit_code=137)
        assert await asyncio.wait_for(waiting, PATIENCE_S) == {"preempt": True}


async def test_a_wish_made_while_the_gateway_was_away_is_heard_when_it_is_back(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        waiting = asyncio.create_task(trial.get(preemption(order.spec.allocation_id, 60)))
        await asyncio.sleep(0.1)
        await cluster.stop("api")
        with pytest.raises(aiohttp.ClientError):
            await waiting
        await cluster.ask(PreemptAllocation(POOL, order.spec.allocation_id, "meanwhile"), "preempt")
        await cluster.start_gateway()
        assert await trial.get(preemption(order.spec.allocation_id, 60)) == {"preempt": True}


async def test_the_bus_losing_the_news_only_makes_it_late(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        await cluster.stop("relay")
        waiting = asyncio.create_task(trial.get(preemption(order.spec.allocation_id, 60)))
        await asyncio.sleep(0.1)
        await cluster.ask(PreemptAllocation(POOL, order.spec.allocation_id, "unheard"), "preempt")
        assert await asyncio.wait_for(waiting, PATIENCE_S) == {"preempt": True}


async def gang(cluster: Whole) -> tuple[list[str], str, dict[str, str]]:
    """A trial over two agents: its resources in rank order, its allocation, and the token of each share."""
    agents = [await cluster.agent(), await cluster.agent()]
    await cluster.submit(slots=2)
    orders = [await agent.given() for agent in agents]
    for agent, order in zip(agents, orders, strict=True):
        await agent.report(order, "started")
    orders.sort(key=lambda order: order.rank)
    return (
        [order.placement.resources_id for order in orders],
        orders[0].spec.allocation_id,
        {order.placement.resources_id: order.token for order in orders},
    )


async def test_peers_meet_and_each_is_told_its_rank(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agents = [await cluster.agent(), await cluster.agent()]
        await cluster.submit(slots=2)
        orders = [await agent.given() for agent in agents]
        first = orders[0]
        trial = cluster.known_as(first.token)
        path = f"/api/v1/allocations/{first.spec.allocation_id}/resources"
        meeting = [
            asyncio.create_task(trial.get(f"{path}/{order.placement.resources_id}/rendezvous")) for order in orders
        ]
        await agents[0].report(orders[0], "started")
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in meeting), "nobody meets before all are there"
        await agents[1].report(orders[1], "started")
        met = [(await asyncio.wait_for(task, PATIENCE_S))["rendezvousInfo"] for task in meeting]
        assert [info["rank"] for info in met] == [order.rank for order in orders]
        assert met[0]["addresses"] == met[1]["addresses"]
        assert sorted(met[0]["addresses"]) == ["agent-0.example", "agent-1.example"]
        assert met[0]["slots"] == [1, 1]
        assert (await trial.call("GET", f"{path}/no-such/rendezvous")).status == 404


async def test_what_each_peer_brings_all_of_them_get(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        resources, allocation_id, tokens = await gang(cluster)
        path = f"/api/v1/allocations/{allocation_id}/all_gather"

        async def gather(rank: int, round_: str = "ports") -> Any:
            trial = cluster.known_as(tokens[resources[rank]])
            body = {"requestUuid": f"{round_}-{rank}", "numPeers": 2, "data": {"rank": rank, round_: 1000 + rank}}
            return (await trial.post(path, body))["data"]

        first = asyncio.create_task(gather(0))
        await asyncio.sleep(0.1)
        assert not first.done()
        second = await asyncio.wait_for(gather(1), PATIENCE_S)
        assert sorted(row["ports"] for row in second) == [1000, 1001]
        assert await asyncio.wait_for(first, PATIENCE_S) == second
        assert await gather(0) == second, "one who did not hear the answer asks again"
        await asyncio.gather(gather(0, "keys"), later := asyncio.ensure_future(gather(1, "keys")))
        assert sorted(row["keys"] for row in later.result()) == [1000, 1001], "what is gathered next is gathered apart"
        trial = cluster.known_as(tokens[resources[0]])
        answer = await trial.call("POST", path, {"numPeers": 2})
        assert (answer.status, answer.error.partition(":")[0]) == (400, "requestUuid")


async def test_what_peers_gather_is_bounded_and_each_limit_is_named(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        resources, allocation_id, tokens = await gang(cluster)
        peer, path = cluster.known_as(tokens[resources[0]]), f"/api/v1/allocations/{allocation_id}/all_gather"
        for field, value in (("requestUuid", "u" * 129), ("numPeers", -1), ("numPeers", 5_000)):
            body = {"requestUuid": "u", "numPeers": 1, "data": {}, field: value}
            answer = await peer.call("POST", path, body)
            assert (answer.status, answer.error.partition(":")[0]) == (400, field)
        answer = await peer.call(
            "POST", path, {"requestUuid": "u", "numPeers": 1, "data": {"x": "x" * SHARE.limit_bytes}}
        )
        assert (answer.status, "an all-gather" in answer.error) == (413, True)
        answer = await cluster.user.call("POST", path.replace(allocation_id, "no.such.1"), {"requestUuid": "u"})
        assert answer.status in (403, 404), "nothing is kept for an allocation that nobody made"


async def test_of_many_rounds_only_the_newest_are_kept(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        resources, allocation_id, tokens = await gang(cluster)
        peers, path = [cluster.known_as(tokens[name]) for name in resources], f"/api/v1/allocations/{allocation_id}"

        async def gather(rank: int, round_: int) -> Any:
            body = {"requestUuid": f"{round_}-{rank}", "numPeers": 2, "data": {"rank": rank, "round": round_}}
            return (await peers[rank].post(f"{path}/all_gather", body))["data"]

        for round_ in range(20):
            answers = await asyncio.gather(gather(0, round_), gather(1, round_))
            assert answers[0] == answers[1]
            assert sorted((one["round"], one["rank"]) for one in answers[0]) == [(round_, 0), (round_, 1)]
        assert await gather(1, 19) == answers[0], "who did not hear the answer asks again"
        connection = await asyncpg.connect(postgres_dsn)
        assert await connection.fetchval("SELECT count(*) FROM measures.gathered") == 4
        await connection.close()


async def test_all_peers_are_sent_the_same_bytes_however_many_they_are(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    send = Call.send_bytes

    async def noted(call: Call, body: bytes) -> Any:
        assert (call.message, call.read.raw) == (None, b""), "a peer that waits keeps nothing of its request"
        sent.append(body)
        return await send(call, body)

    monkeypatch.setattr(Call, "send_bytes", noted)
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        resources, allocation_id, tokens = await gang(cluster)
        peer, path = cluster.known_as(tokens[resources[0]]), f"/api/v1/allocations/{allocation_id}/all_gather"
        calls = (
            peer.post(path, {"requestUuid": f"u{n}", "numPeers": 16, "data": {"x": "x" * 10_000}}) for n in range(16)
        )
        answers = await asyncio.gather(*calls)
        assert answers == [{"data": [{"x": "x" * 10_000}] * 16}] * 16
        assert len({id(body) for body in sent}) == 1

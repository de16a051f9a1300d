"""Two gateways, each with connections of its own: who waits at one hears what comes through the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

import resolute.api.shell
from resolute.bus.nats import NatsBus
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.pool import PreemptAllocation, StartTask
from resolute.service import Context
from tests.integration.api.running import PATIENCE_S, SECRET, Client
from tests.integration.api.whole import POOL, Whole, results, whole
from tests.ports import free_port

CUSTOM = """
name: driven
entrypoint: python3 train.py
searcher: {name: custom, metric: loss, unit: batches}
resources: {slots_per_trial: 1}
"""


@asynccontextmanager
async def another_gateway(cluster: Whole, nats_url: str) -> AsyncIterator[str]:
    """Its address."""
    settings = cluster.settings.model_copy(update={"port": free_port()})
    log, bus = await PostgresEventLog.open(settings.database_url), await NatsBus.open(nats_url)
    ready = asyncio.Event()
    context = Context(log, bus, on_ready=lambda name: ready.set(), secret=SECRET.encode())
    serving = asyncio.create_task(resolute.api.shell.serve(context, settings))
    try:
        await asyncio.wait_for(ready.wait(), PATIENCE_S)
        yield f"http://127.0.0.1:{settings.port}"
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        await bus.close()
        await log.close()


@pytest.fixture
async def pair(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[tuple[Whole, str]]:
    """A cluster, and the address of its second gateway."""
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster, another_gateway(cluster, nats_url) as other:
        yield cluster, other


def at(other: str, client: Client) -> Client:
    """The same person or task, at the other gateway."""
    return Client(other, client.http, client.token)


async def started(cluster: Whole) -> tuple[StartTask, Client]:
    agent = await cluster.agent()
    await cluster.submit()
    return await cluster.task(agent)


async def waiting(poll: asyncio.Task[Any]) -> None:
    """Let the poll reach its gateway: one that was answered at once would have been by then."""
    done, _ = await asyncio.wait({poll}, timeout=0.2)
    assert not done


async def test_who_waits_at_one_hears_of_a_wish_made_at_the_other(pair: tuple[Whole, str]) -> None:
    cluster, other = pair
    order, trial = await started(cluster)
    path = f"/api/v1/allocations/{order.spec.allocation_id}/signals/preemption"
    polls = [asyncio.create_task(who.get(path, timeoutSeconds=60)) for who in (trial, at(other, trial))]
    for poll in polls:
        await waiting(poll)
    await at(other, cluster.user).post("/api/v1/experiments/1/pause")
    assert await asyncio.wait_for(asyncio.gather(*polls), PATIENCE_S) == [{"preempt": True}] * 2


async def test_a_trial_whose_gateway_dies_while_it_waits_hears_the_same_from_the_other(
    pair: tuple[Whole, str],
) -> None:
    cluster, other = pair
    order, trial = await started(cluster)
    path = f"/api/v1/allocations/{order.spec.allocation_id}/signals/preemption"
    poll = asyncio.create_task(trial.get(path, timeoutSeconds=60))
    await waiting(poll)
    await cluster.stop("api")
    with pytest.raises(aiohttp.ClientError):
        await poll
    await cluster.ask(PreemptAllocation(POOL, order.spec.allocation_id, "a test wants the slot"), "preempt")
    assert await at(other, trial).get(path, timeoutSeconds=60) == {"preempt": True}


async def test_peers_meet_and_gather_through_different_gateways(pair: tuple[Whole, str]) -> None:
    cluster, other = pair
    agents = [await cluster.agent(), await cluster.agent()]
    await cluster.submit(slots=2)
    orders = [await agent.given() for agent in agents]
    peers = [cluster.known_as(orders[0].token), at(other, cluster.known_as(orders[1].token))]
    base = f"/api/v1/allocations/{orders[0].spec.allocation_id}"
    meeting = [
        asyncio.create_task(peer.get(f"{base}/resources/{order.placement.resources_id}/rendezvous"))
        for peer, order in zip(peers, orders, strict=True)
    ]
    for agent, order in zip(agents, orders, strict=True):
        await agent.report(order, "started")
    met = [answer["rendezvousInfo"] for answer in await asyncio.wait_for(asyncio.gather(*meeting), PATIENCE_S)]
    assert [info["rank"] for info in met] == [order.rank for order in orders]
    brought = [
        peer.post(f"{base}/all_gather", {"requestUuid": f"ports-{rank}", "numPeers": 2, "data": {"rank": rank}})
        for rank, peer in enumerate(peers)
    ]
    gathered = [answer["data"] for answer in await asyncio.wait_for(asyncio.gather(*brought), PATIENCE_S)]
    assert gathered[0] == gathered[1]
    assert sorted(peer["rank"] for peer in gathered[0]) == [0, 1]


async def test_lines_shipped_to_both_are_stored_once_and_followed_at_either(pair: tuple[Whole, str]) -> None:
    cluster, other = pair
    agent = await cluster.agent()
    await cluster.submit()
    order, trial = await cluster.task(agent)
    here, there = cluster.user, at(other, cluster.user)
    following = [
        asyncio.create_task(results(who, "/api/v1/trials/1/logs", follow="true", sources="task"))
        for who in (here, there)
    ]
    for number in range(20):
        line = {"taskId": order.spec.task_id, "timestamp": f"2026-01-02T03:04:{number:02d}Z", "log": f"line {number}"}
        same = {"Idempotency-Key": f"line-{number}"}  # a request that is repeated at the other gateway
        for shipped_to in (trial, at(other, trial)):
            answer = await shipped_to.call("POST", "/api/v1/task/logs", {"logs": [line]}, headers=same)
            assert answer.status == 200
    await agent.report(order, "exited", exit_code=0)
    for told in await asyncio.wait_for(asyncio.gather(*following), PATIENCE_S):
        assert [line["log"].rstrip("\n") for line in told] == [f"line {number}" for number in range(20)]


async def test_a_search_is_driven_through_both(pair: tuple[Whole, str]) -> None:
    cluster, other = pair
    await cluster.submit(config=CUSTOM)
    here, there = cluster.user, at(other, cluster.user)
    path = "/api/v1/experiments/1"
    [first] = (await there.get(f"{path}/searcher_events"))["searcherEvents"]
    poll = asyncio.create_task(there.get(f"{path}/searcher_events", after=first["id"], timeoutSeconds=60))
    await waiting(poll)
    request = str(uuid4())
    operations = [
        {"createTrial": {"requestId": request, "hyperparams": "{}"}},
        {"trialOperation": {"validateAfter": {"requestId": request, "length": "10"}}},
    ]
    for client in (here, there):  # an answer counts once, wherever it is given
        body = {"searcherOperations": operations, "triggeredByEvent": first}
        await client.post(f"{path}/searcher_operations", body)
    [created] = (await asyncio.wait_for(poll, PATIENCE_S))["searcherEvents"]
    assert created["trialCreated"] == {"requestId": request}
    assert len((await there.get(f"{path}/trials"))["trials"]) == 1

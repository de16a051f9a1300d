"""Several gateways over one database: each shows what any of them wrote, and none trusts a token for long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import resolute.searcher.shell as searcher
from resolute.api.metrics.queries import QUERIES
from resolute.api.settings import ApiSettings
from resolute.api.shell import serve
from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import ExperimentDeleted
from resolute.service import Context
from tests.integration.api import a_search
from tests.integration.api.running import Client, refused_within, running
from tests.integration.api.test_experiments import submit


async def test_what_one_gateway_wrote_the_other_shows_at_once_and_each_event_is_shown_once(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as first, running(postgres_dsn, log) as second:
        here, there = await first.nobody.login("admin"), await second.nobody.login("admin")

        async def create(client: Client, number: int) -> None:
            await client.post("/api/v1/workspaces", {"name": f"workspace {number}"})

        await asyncio.gather(*(create((here, there)[number % 2], number) for number in range(20)))
        shown = await asyncio.gather(*(client.get("/api/v1/workspaces", limit=50) for client in (here, there)))
        assert [len(answer["workspaces"]) for answer in shown] == [21, 21]
        assert (await here.get("/api/v1/workspaces", name="workspace 7"))["pagination"]["total"] == 1


async def test_a_token_closed_at_one_gateway_is_dead_at_the_others_within_a_second(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as first, running(postgres_dsn, log) as second:
        someone = await first.nobody.login("determined")
        elsewhere = Client(second.nobody.base, second.nobody.http, someone.token)
        await elsewhere.get("/api/v1/me")
        await someone.post("/api/v1/auth/logout")
        assert (await someone.call("GET", "/api/v1/me")).status == 401

        async def refused() -> bool:
            return (await elsewhere.call("GET", "/api/v1/me")).status == 401

        await refused_within(1.0, refused)


async def test_a_deleted_experiment_takes_its_measurements_with_it(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        metrics = cluster.gateway.ports.of(QUERIES)
        assert list(await metrics.groups(1)) == ["training", "validation"]
        await cluster.tell("experiment-1", ExperimentDeleted())
        await cluster.gateway.forget_deleted((await cluster.log.read_stream("experiment-1"))[-1])
        await cluster.gateway.log_removal.look()
        assert list(await metrics.groups(1)) == []
        someone = await cluster.nobody.login("determined")
        assert (await someone.call("GET", "/api/v1/experiments/1")).status == 404
        assert (await someone.call("GET", "/api/v1/trials/1")).status == 404


async def test_a_searcher_that_is_away_for_a_moment_costs_a_moment_and_nothing_happens_twice(postgres_dsn: str) -> None:
    async with running(postgres_dsn, persistence_s=20) as cluster:
        someone = await cluster.nobody.login("determined")
        submitting = asyncio.create_task(submit(someone, activate=False))
        await asyncio.wait({submitting}, timeout=0.3)
        assert not submitting.done()
        searching = asyncio.create_task(searcher.serve(cluster.gateway.context))
        assert (await submitting)["experiment"]["id"] == 1
        assert (await someone.get("/api/v1/experiments"))["pagination"]["total"] == 1
        searching.cancel()


async def test_a_port_in_use_is_told_plainly(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        port = int(cluster.nobody.base.rpartition(":")[2])
        settings = cluster.gateway.settings.model_copy(update={"port": port})
        with pytest.raises(InvalidConfig, match=f"cannot listen on 127.0.0.1:{port}"):
            await serve(Context(MemoryEventLog(), MemoryBus()), settings)


async def test_a_gateway_without_the_clusters_secret_does_not_start(postgres_dsn: str) -> None:
    with pytest.raises(InvalidConfig, match="secret"):
        await serve(Context(MemoryEventLog(), MemoryBus()), ApiSettings(database_url=postgres_dsn))

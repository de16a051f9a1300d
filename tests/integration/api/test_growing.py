"""A gateway whose tables are not whole says so: 503 and when to come again, and never that something does not exist."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp
import pytest
from prometheus_client import REGISTRY

from resolute.api import lag, shell
from resolute.api.kernel.growth import FEW, grow
from resolute.api.kernel.readmodel import Progress, ReadModel
from resolute.api.kernel.tables import SliceTables
from resolute.api.kernel.unused import drop_unused, note_use
from resolute.api.slices import read_model
from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.message import Cause, Recorded
from resolute.proto.pool import AgentJoined, Slot
from resolute.service import Context, tokens
from tests.integration.api import a_search
from tests.integration.api.running import PATIENCE_S, SECRET, Answer, Client, Running, running
from tests.ports import free_port

PATHS = ("/api/v1/experiments/1", "/api/v1/users", "/api/v1/trials/1", "/api/v1/trials/1/logs")


@pytest.fixture
def postgres_dsn(empty_database: str) -> str:
    """How the tables come to be is what is tested here."""
    return empty_database


class SlowLog(MemoryEventLog):
    """A log that is read only once the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.was_asked = asyncio.Event()

    def as_seen_by_another(self) -> SlowLog:
        """The same events. It may not be read yet, and notes whether somebody tried."""
        other = copy.copy(self)
        other.may_read, other.was_asked = asyncio.Event(), asyncio.Event()
        return other

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        self.was_asked.set()
        await self.may_read.wait()
        return await super().read_all(after, limit)


def tables_of(read: ReadModel, slice_: str) -> str:
    """The schema that the tables of a slice are in."""
    found: SliceTables = next(one for one in read.tables if one.projection.slice == slice_)
    return found.schema


async def answers(client: Client) -> list[Answer]:
    return [await client.call("GET", path) for path in PATHS]


def come_again(answers: list[Answer]) -> bool:
    return all(one.status == 503 and 1 <= int(one.headers["Retry-After"]) <= 30 for one in answers)


@asynccontextmanager
async def served(
    cluster: Running, log: MemoryEventLog, **changes: Any
) -> AsyncIterator[tuple[str, list[str], list[str]]]:
    """A whole gateway beside the cluster's own: its address, and what it says of being ready and of its progress."""
    settings = cluster.gateway.settings.model_copy(update={"port": free_port(), **changes})
    ready, progress = list[str](), list[str]()
    context = Context(log, MemoryBus(), on_ready=ready.append, on_progress=lambda _, text: progress.append(text))
    serving = asyncio.create_task(shell.serve(context, settings))
    try:
        yield f"http://127.0.0.1:{settings.port}", ready, progress
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def until_it_answers(client: Client, path: str, status: int) -> Answer:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                answer = await client.call("GET", path)
            except aiohttp.ClientError:
                await asyncio.sleep(0.01)
                continue
            if answer.status == status:
                return answer
            assert answer.status == 503, answer.body


async def test_people_and_tasks_come_again_until_the_tables_have_grown(postgres_dsn: str, tmp_path: Path) -> None:
    log = SlowLog()
    async with running(postgres_dsn, log) as cluster:
        user = await cluster.nobody.login("determined")
        await a_search.tell(cluster, tmp_path)
        task = replace(user, token=tokens.mint(SECRET.encode(), "task-2", "alloc-2"))
        await cluster.gateway.read.drop()
        log.may_read.clear()
        async with served(cluster, log) as (address, ready, _):
            there = [replace(who, base=address) for who in (cluster.nobody, user, task)]
            await until_it_answers(there[0], "/health", 200)
            for who in there:
                assert come_again(await answers(who))
            login = {"username": "determined", "password": ""}
            assert (await there[0].call("POST", "/api/v1/auth/login", login)).status == 503
            assert ready == []
            log.may_read.set()
            assert (await until_it_answers(there[1], PATHS[0], 200)).body["experiment"]["name"] == "digits"
            assert ready == ["api"]


async def test_a_gateway_that_shares_its_port_takes_no_connection_before_it_can_answer(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log, port = SlowLog(), free_port()
    async with running(postgres_dsn, log) as cluster:
        user = await cluster.nobody.login("determined")
        await a_search.tell(cluster, tmp_path)
        async with served(cluster, log, port=port, reuse_port=True) as (address, _, _):
            there = replace(user, base=address)
            await until_it_answers(there, PATHS[0], 200)
            log.may_read.clear()
            joined = [AgentJoined("agent-1", (), "host", "1")]
            await log.append("pool-spare", joined, expected_version=0, cause=Cause("a"))
            second = log.as_seen_by_another()
            async with served(cluster, second, port=port, reuse_port=True) as (_, ready, _):
                async with asyncio.timeout(PATIENCE_S):
                    await second.was_asked.wait()
                # The kernel gives each new connection to one of those that listen.
                asked = [await there.call("GET", PATHS[0], headers={"Connection": "close"}) for _ in range(40)]
                assert {one.status for one in asked} == {200}
                assert ready == []
                log.may_read.set()
                second.may_read.set()
                await cluster.until(lambda: asyncio.sleep(0, ready), ["api"])


async def test_tables_that_were_dropped_are_not_taken_for_an_empty_cluster_and_grow_again(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = SlowLog()
    async with running(postgres_dsn, log) as cluster:
        user = await cluster.nobody.login("determined")
        await a_search.tell(cluster, tmp_path)
        async with served(cluster, log) as (address, ready, _):
            there = replace(user, base=address)
            await until_it_answers(there, PATHS[0], 200)
            log.may_read.clear()
            await cluster.gateway.pool.execute(f"DROP SCHEMA {tables_of(cluster.gateway.read, 'experiments')} CASCADE")
            assert come_again(await answers(there))
            log.may_read.set()
            await until_it_answers(there, PATHS[0], 200)
            await cluster.until(lambda: asyncio.sleep(0, ready), ["api", "api"])


async def test_a_gateway_whose_tables_fall_behind_the_log_is_not_ready_until_they_have_caught_up(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag, "LOOK_EVERY_S", 0.02)
    log = SlowLog()
    async with running(postgres_dsn, log) as cluster, served(cluster, log, behind_max_s=1.5) as (_, ready, progress):
        await cluster.until(lambda: asyncio.sleep(0, "api" in ready), True)
        log.may_read.clear()  # neither gateway can read what is new
        joined = [AgentJoined(f"agent-{n}", (), "host", "1") for n in range(3)]
        await log.append("pool-default", joined, expected_version=0, cause=Cause("a"))
        head = await log.head()
        await cluster.until(lambda: asyncio.sleep(0, "behind the log" in "".join(progress[-1:])), True)
        assert re.fullmatch(
            rf"its tables are \d+ s behind the log: they show {head - 3} of {head} events", progress[-1]
        )
        assert _behind_s() > 1.5
        times_ready = len(ready)
        log.may_read.set()
        await cluster.until(lambda: asyncio.sleep(0, len(ready) > times_ready), True)
        await cluster.until(lambda: asyncio.sleep(0, _behind_s()), 0.0)


def _behind_s() -> float:
    """What `/metrics` says."""
    return REGISTRY.get_sample_value("resolute_api_behind_seconds") or 0.0


async def test_what_came_through_another_gateway_a_moment_ago_is_found(postgres_dsn: str, tmp_path: Path) -> None:
    log = SlowLog()
    async with running(postgres_dsn, log, persistence_s=20) as cluster:
        user = await cluster.nobody.login("determined")
        with mock.patch.object(cluster.gateway.read, "reached"):  # the test's own writes are not waited for
            log.may_read.clear()
            await a_search.tell(cluster, tmp_path)
        log.may_read.set()
        assert (await user.call("GET", "/api/v1/experiments/1")).status == 200


async def test_two_gateways_grow_one_set_of_tables_between_them(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        pool = cluster.gateway.pool
        joined = [AgentJoined(f"agent-{n}", (), "host", "1") for n in range(FEW + 500)]
        await cluster.tell("pool-default", *joined)
        await cluster.gateway.read.drop()
        models = [read_model(pool, log), read_model(pool, log)]
        told: list[list[Progress]] = [[], []]
        for model in models:
            await model.prepare()
        await asyncio.gather(*(grow(model, told[n].append) for n, model in enumerate(models)))
        assert await models[1].value("SELECT count(*) FROM read_pools.agents") == len(joined)
        for heard in told:
            assert heard[-1].head == await log.head()
            assert all(1 <= one.ask_again_s <= 30 for one in heard)
        assert log.aside == []


async def test_another_gateway_may_show_an_event_between_this_ones_look_and_its_own_try(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        pool = cluster.gateway.pool
        mine, other = read_model(pool, log), read_model(pool, log)
        await mine.prepare()
        await other.prepare()
        await log.append(
            "pool-default", [AgentJoined("agent-a", (), "host", "1")], expected_version=0, cause=Cause("a")
        )
        write = mine._following._written

        async def overtaken(*arguments: Any, **more: Any) -> bool:
            await other.catch_up()
            found = await write(*arguments, **more)
            await mine.position()  # as answers do, at any moment
            return found

        with mock.patch.object(mine._following, "_written", overtaken):
            await mine.catch_up()
        assert mine.shown == await log.head()


async def test_what_could_not_be_shown_is_shown_once_it_can_and_is_asked_for_again(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        read, pool = cluster.gateway.read, cluster.gateway.pool
        await pool.execute(f"ALTER TABLE {tables_of(read, 'pools')}.agents ADD CHECK (agent_id <> 'agent-b')")
        await cluster.tell("pool-default", *(AgentJoined(f"agent-{name}", (), "host", "1") for name in "abc"))
        [(consumer, position, _)] = log.aside
        assert consumer == tables_of(read, "pools")
        assert await log.ask_again(consumer, position)
        await read.again()
        shown = await read.rows("SELECT agent_id FROM read_pools.agents ORDER BY agent_id")
        assert [row["agent_id"] for row in shown] == ["agent-a", "agent-b", "agent-c"]
        assert log.aside == []
        await cluster.tell("pool-default", AgentJoined("agent-d", (), "host", "1"))
        assert await read.value("SELECT count(*) FROM read_pools.agents") == 4


async def test_what_still_cannot_be_shown_stays_aside(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        await cluster.tell("pool-default", AgentJoined("agent-a", (Slot(2**40, "cpu"),), "host", "1"))
        [(consumer, position, _)] = log.aside
        await log.ask_again(consumer, position)
        await cluster.gateway.read.again()
        assert [(one[0], one[1]) for one in log.aside] == [(consumer, position)]
        assert await log.asked_again(consumer) == []


async def test_tables_that_no_gateway_uses_are_dropped_and_all_others_stay(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as cluster:
        pool, own = cluster.gateway.pool, list(cluster.gateway.read.used)
        earlier = ("read_pools_v997", "read_pools_v998", "read_v4")  # the last is of before slices had versions
        for schema in earlier:
            await pool.execute(
                f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.progress AS SELECT 0::bigint AS position"
            )
        head, week = await log.head(), timedelta(days=7)
        await pool.execute("UPDATE read_pools_v997.progress SET position = $1", head)
        await pool.execute("CREATE SCHEMA read_virtue")
        await note_use(pool, "read_v4", 0)
        assert await drop_unused(pool, own, head, week) == []
        await pool.execute("UPDATE api.read_models SET used_at = now() - interval '8 days'")
        await note_use(pool, "read_v4", 0)
        # Of the three the first shows the whole log, and the last is used.
        assert await drop_unused(pool, own, head, week) == ["read_pools_v998"]
        await pool.execute("UPDATE api.read_models SET used_at = now() - interval '8 days'")
        assert await drop_unused(pool, own, head + 1, week) == ["read_pools_v997", "read_v4"]
        kept = await pool.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'read%' ORDER BY 1")
        assert [row[0] for row in kept] == sorted([*own, "read_virtue"])


async def test_a_position_asked_for_while_events_are_shown_is_no_loss(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        read = cluster.gateway.read
        for number in range(50):
            joined = AgentJoined(f"agent-{number}", (), "host", "1")
            await asyncio.gather(cluster.tell("pool-default", joined), *(read.position() for _ in range(5)))
        assert not read.lost.is_set()

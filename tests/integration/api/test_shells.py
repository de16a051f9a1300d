"""Shells through a gateway: who is told what opens them, and how far a caller without credentials comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.integration.api.running import PATIENCE_S
from tests.integration.api.served import Served, served
from tests.integration.api.whole import Whole, whole

SHELLS = "/api/v1/shells"
WITHOUT_SLOTS = {"config": {"resources": {"slots": 0}}}


@pytest.fixture
async def cluster(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        yield cluster


async def test_what_opens_a_shell_is_told_to_its_owner_and_the_shell_itself_is_told_what_to_ask_for(
    cluster: Whole,
) -> None:
    agent = await cluster.agent()
    async with agent.alive():
        made = (await cluster.user.post(SHELLS, WITHOUT_SLOTS))["shell"]
        order = await agent.given()
        assert order.spec.task_type == "SHELL"
        assert order.spec.service is not None
        assert (order.spec.service.variable, order.spec.service.tcp) == ("SHELL_PORT", True)
        await agent.report(order, "started")
        path = f"{SHELLS}/{made['id']}"
        assert made["privateKey"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
        assert made["agentUserGroup"] == {"user": ""}, "clients sign in as root"
        [address] = made["addresses"]
        owner = (await cluster.user.get(path))["shell"]
        assert owner["addresses"] == [address]
        assert owner["publicKey"] == made["publicKey"]
        itself = (await cluster.known_as(order.token).get(path))["shell"]
        assert (itself["privateKey"], itself["publicKey"]) == ("", made["publicKey"])
        assert itself["addresses"] == [address]
        admin = (await (await cluster.nobody.login("admin")).get(path))["shell"]
        assert (admin["privateKey"], admin["addresses"]) == ("", [])
        [listed] = (await cluster.user.get(SHELLS))["shells"]
        assert (listed["id"], listed["privateKey"]) == (made["id"], ""), "a list is no place for keys"
        other = (await cluster.user.post(SHELLS, WITHOUT_SLOTS))["shell"]
        assert other["publicKey"] != made["publicKey"]
        assert other["addresses"][0]["token"] != address["token"]
        refused = await cluster.known_as(order.token).call("GET", f"{SHELLS}/{other['id']}")
        assert refused.status == 403


async def test_a_shell_is_never_ended_for_being_idle(cluster: Whole) -> None:
    answer = await cluster.user.call("POST", SHELLS, {"config": {"idle_timeout": "30m"}})
    assert answer.status == 400
    assert "idle_timeout" in answer.error


@asynccontextmanager
async def shouting(scene: Served) -> AsyncIterator[None]:
    """A shell whose program answers in capital letters."""

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()

    await scene.start(kind="shell")
    async with await asyncio.start_server(shout, "127.0.0.1", scene.ports[0]):
        yield


async def status_of(scene: Served, path: str) -> int:
    """What a caller without credentials is answered who wants a WebSocket there; 101 for one that opens."""
    try:
        async with scene.user.http.ws_connect(f"{scene.user.base}{path}") as socket:
            await socket.send_bytes(b"SSH-2.0-test\r\n")
            assert await asyncio.wait_for(socket.receive_bytes(), PATIENCE_S) == b"SSH-2.0-TEST\r\n"
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def test_a_caller_without_credentials_gets_to_the_sshd_of_a_shell_and_nowhere_else(
    postgres_dsn: str, tmp_path: Path
) -> None:
    async with served(postgres_dsn, tmp_path) as scene:
        async with shouting(scene):
            assert await status_of(scene, scene.path) == 101, "as clients of Determined open a shell"
            assert await status_of(scene, f"{scene.path}below") == 401
            assert await status_of(scene, f"/proxy/{scene.task_id}:{scene.program.port}/") == 401
            for method in ("GET", "POST"):
                assert (await scene.cluster.nobody.call(method, scene.path)).status == 401
            bare = await scene.cluster.nobody.call("GET", scene.path[:-1], allow_redirects=False)
            assert bare.status == 401
        await scene.start()
        assert await status_of(scene, scene.path) == 401, "a command"
        assert await status_of(scene, "/proxy/no-such-task/") == 401, "what there is is not told"
        await scene.start(running=False, kind="notebook")
        assert await status_of(scene, scene.path) == 401


async def test_an_administrator_can_close_that_way(postgres_dsn: str, tmp_path: Path) -> None:
    async with served(postgres_dsn, tmp_path, proxy={"shells_need_session": True}) as scene, shouting(scene):
        assert await status_of(scene, scene.path) == 401
        headers = {"Authorization": f"Bearer {scene.user.token}"}
        async with scene.user.http.ws_connect(f"{scene.user.base}{scene.path}", headers=headers) as socket:
            await socket.send_bytes(b"hello")
            assert await asyncio.wait_for(socket.receive_bytes(), PATIENCE_S) == b"HELLO"

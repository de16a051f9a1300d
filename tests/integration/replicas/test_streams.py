"""Live updates through a gateway that is killed: its client comes again with what it knows, loses nothing, and is sent
nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.integration.api.running import PATIENCE_S, SECRET, Client
from tests.integration.api.whole import Whole, whole
from tests.integration.test_service_processes import Process
from tests.ports import free_port

MODELS = 24
KILLED_AT = (6, 15)


class GatewayProcess:
    """A gateway of its own, at one port whenever it runs."""

    def __init__(self, cluster: Whole, nats_url: str, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        self._settings = {
            "RESOLUTE_DATABASE_URL": cluster.settings.database_url,
            "RESOLUTE_NATS_URL": nats_url,
            "RESOLUTE_CLUSTER_SECRET": SECRET,
            "RESOLUTE_API_DATABASE_URL": cluster.settings.database_url,
            "RESOLUTE_API_PORT": str(self.port),
            "RESOLUTE_API_SECRET": SECRET,
        }
        self.start()

    def start(self) -> None:
        self._process = Process(self._folder, "-m", "resolute.api", **self._settings)

    def kill(self) -> None:
        self._process.end(signal.SIGKILL)


class Follower:
    """A client that keeps what it is told, and connects again whenever it is cut off."""

    def __init__(self, base: str, user: Client) -> None:
        self._url, self._http, self._token = f"{base}/stream", user.http, user.token
        self.models: dict[int, dict[str, Any]] = {}
        self.sent: list[tuple[int, int]] = []
        """The id and the `seq` of each message."""
        self.since = 0
        self.syncs = 0

    async def run(self) -> None:
        while True:
            with suppress(aiohttp.ClientError, OSError):
                await self._follow()
            await asyncio.sleep(0.05)  # a client that comes again waits a little

    async def _follow(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        async with self._http.ws_connect(self._url, headers=headers) as socket:
            known = ",".join(map(str, sorted(self.models)))
            wanted = {"models": {"all": True, "since": self.since}}
            await socket.send_json({"sync_id": "again", "known": {"models": known}, "subscribe": wanted})
            async for message in socket:
                self._take(message.json())

    def _take(self, message: dict[str, Any]) -> None:
        self.syncs += message.get("complete", False)
        for part in filter(None, message.get("models_deleted", "").split(",")):
            first, _, last = part.partition("-")
            for model_id in range(int(first), int(last or first) + 1):
                del self.models[model_id]
        if (model := message.get("model")) is not None:
            self.models[model["id"]] = model
            self.sent.append((model["id"], model["seq"]))
            self.since = max(self.since, model["seq"])

    def stands(self) -> dict[str, bool]:
        return {model["name"]: model["archived"] for model in self.models.values()}


@pytest.fixture
def processes() -> Iterator[list[GatewayProcess]]:
    started: list[GatewayProcess] = []
    yield started
    for one in started:
        with suppress(OSError):
            os.kill(one._process.process.pid, signal.SIGKILL)


async def test_a_client_of_a_killed_gateway_loses_nothing_and_is_sent_nothing_twice(
    postgres_dsn: str, nats_url: str, tmp_path: Path, processes: list[GatewayProcess]
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        gateway = GatewayProcess(cluster, nats_url, tmp_path)
        processes.append(gateway)
        follower = Follower(f"http://127.0.0.1:{gateway.port}", cluster.user)
        following = asyncio.create_task(follower.run())
        try:
            await _until(lambda: follower.syncs == 1)
            there = await _make_models(cluster.user, gateway, follower)
            await _until(lambda: follower.stands() == there)
        finally:
            following.cancel()
        assert follower.syncs == 1 + len(KILLED_AT)
        assert len(set(follower.sent)) == len(follower.sent)


async def _make_models(user: Client, gateway: GatewayProcess, follower: Follower) -> dict[str, bool]:
    """Models are made, archived and deleted through another gateway, while the client's own is killed."""
    there = dict[str, bool]()
    for number in range(MODELS):
        if number in KILLED_AT:
            syncs = 1 + KILLED_AT.index(number)
            await _until(lambda wanted=syncs: follower.syncs == wanted)
            gateway.kill()
        name = f"model-{number}"
        await user.post("/api/v1/models", {"name": name})
        there[name] = False
        if number >= 2:
            await user.post(f"/api/v1/models/model-{number - 2}/archive")
            there[f"model-{number - 2}"] = True
        if number % 5 == 4:
            await user.call("DELETE", f"/api/v1/models/model-{number - 3}")
            del there[f"model-{number - 3}"]
        if number - 3 in KILLED_AT:
            gateway.start()
    return there


async def _until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  (what other processes bring about)
            await asyncio.sleep(0.01)

"""What administrators change of the master's configuration over REST: the log of every gateway follows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from resolute.api.master.own_log import OwnLogFollower
from resolute.api.signals import Signals
from resolute.proto import streams
from resolute.proto.master_config import LogLevel
from resolute.service import logs
from tests.integration.api.running import PATIENCE_S, Client, running
from tests.own_log import logging_as_before

PATH = "/api/v1/master/config"


@pytest.fixture
def configured() -> Iterator[None]:
    with logging_as_before():
        logs.configure("api", form="json")
        yield


def changed(*paths: str, **log: Any) -> dict[str, Any]:
    return {"config": {"log": log}, "fieldMask": {"paths": list(paths)}}


async def refused(client: Client, body: Any) -> str:
    answer = await client.call("PATCH", PATH, body)
    assert answer.status == 400, answer.body
    return answer.error


async def test_the_log_of_every_gateway_follows_a_change(postgres_dsn: str, configured: None) -> None:
    async with running(postgres_dsn) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        other = OwnLogFollower(cluster.log, cluster.gateway.signals)
        following = asyncio.create_task(other.run())
        try:
            assert (await admin.get(PATH))["config"]["log"] == {"level": "info", "color": False}
            body = changed("log.level", level="LOG_LEVEL_DEBUG")
            assert (await admin.call("PATCH", PATH, body)).body == {}
            assert (await admin.get(PATH))["config"]["log"]["level"] == "debug"
            assert logging.getLogger().level == logging.DEBUG
            async with asyncio.timeout(PATIENCE_S):
                while other.changed is None or other.changed.level != LogLevel.DEBUG:
                    for recorded in await cluster.log.read_stream(streams.LOGGING_OF_CLUSTER):
                        cluster.gateway.signals.deliver(recorded)  # as the bus does with every fact
                    await asyncio.sleep(0)
            late = OwnLogFollower(cluster.log, Signals())
            await late.look()
            assert late.changed is not None
            assert late.changed.level == LogLevel.DEBUG, "a gateway that starts later follows too"

            await admin.call("PATCH", PATH, {"config": {"log": {"color": False, "level": "ERROR"}}})
            assert (await admin.get(PATH))["config"]["log"]["level"] == "error", "without a mask, what is given"
            await admin.call("PATCH", PATH, changed("log.level"))
            assert (await admin.get(PATH))["config"]["log"]["level"] == "info", "as the configuration says"
            assert (await someone.call("PATCH", PATH, body)).status == 403
        finally:
            following.cancel()


async def test_a_change_without_an_effect_is_refused_by_its_field(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        assert (await refused(admin, {})).startswith("config: nothing to change was found")
        assert (await refused(admin, changed())).startswith("config: nothing to change was found")
        assert (await refused(admin, changed("log.level", "db.port"))).startswith("fieldMask.paths[1]: expected log.le")
        assert (await refused(admin, changed("log.color", color=True))).startswith("config.log.color: this gateway wri")
        assert "config.log.level" in await refused(admin, changed("log.level", level="LOUD"))

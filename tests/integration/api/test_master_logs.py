"""The gateway's own log, over REST: for everybody who is signed in, from memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import orjson
import pytest
import structlog

from resolute.service import logs
from tests.integration.api.running import PATIENCE_S, running
from tests.integration.api.whole import results
from tests.own_log import logging_as_before

LOGS = "/api/v1/master/logs"


@pytest.fixture
def configured() -> Iterator[None]:
    with logging_as_before():
        logs.configure("api", form="json")
        yield


async def test_the_newest_lines_come_with_level_and_without_secrets(postgres_dsn: str, configured: None) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        structlog.get_logger().warning("a lamp went out", lamp=7, password="hunter2")
        logging.getLogger("a.library").error("and a library says so")
        lamp, library = [each["logEntry"] for each in await results(admin, LOGS, offset="-2")]
        assert (lamp["level"], lamp["message"]) == (
            "LOG_LEVEL_WARNING",
            "a lamp went out lamp=7 password=*** service=api",
        )
        assert (library["level"], library["id"]) == ("LOG_LEVEL_ERROR", lamp["id"] + 1)
        assert library["message"].startswith("and a library says so")
        both = await admin.call("GET", LOGS, params={"follow": "true", "limit": "3"})
        assert both.status == 400


async def test_whoever_follows_sees_what_comes(postgres_dsn: str, configured: None) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        structlog.get_logger().warning("before")
        headers = {"Authorization": f"Bearer {admin.token}"}
        params = {"follow": "true", "offset": "-1"}
        following = admin.http.get(admin.base + LOGS, params=params, headers=headers)
        async with asyncio.timeout(PATIENCE_S), following as response:
            first = orjson.loads(await response.content.readline())["result"]["logEntry"]
            structlog.get_logger().warning("after")
            second = orjson.loads(await response.content.readline())["result"]["logEntry"]
        assert [entry["message"].split()[0] for entry in (first, second)] == ["before", "after"]


async def test_it_is_for_everybody_who_is_signed_in(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        assert (await someone.call("GET", LOGS)).status == 200
        assert (await cluster.nobody.call("GET", LOGS)).status == 401

"""The log read over REST: the same events, page by page, and for administrators alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from resolute.api.history import queries
from resolute.cli.rest_log import RestLog
from resolute.cli.session import Session
from resolute.eventlog import Sought, cli
from resolute.proto.experiment import ExperimentEdited, TrialRunStarted
from tests.integration.api import a_search
from tests.integration.api.running import PATIENCE_S, Running, running

EVENTS, ASIDES = "/api/v1/log/events", "/api/v1/log/asides"


async def said_by(cluster: Running, command: Callable[..., int], *words: Any, **options: Any) -> list[str]:
    """What `resolute log …` prints for an administrator on another machine."""
    admin = await cluster.nobody.login("admin")
    said: list[str] = []
    log = RestLog(Session(admin.base, admin.token or ""))
    assert await asyncio.to_thread(command, log, *words, say=said.append, **options) == 0
    return said


async def test_administrators_read_the_log_and_nobody_else(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        someone, admin = await cluster.nobody.login("determined"), await cluster.nobody.login("admin")
        for path in (EVENTS, ASIDES):
            assert (await cluster.nobody.call("GET", path)).status == 401
            assert (await someone.call("GET", path)).status == 403
        page = await admin.get(EVENTS, stream="experiment-1", types="TrialEnded")
        [ended] = page["events"]
        assert (ended["stream"], ended["data"]["trial_id"], page["more"]) == ("experiment-1", 1, False)
        assert int(page["head"]) == await cluster.log.head()


async def test_pages_are_bounded_and_together_they_are_the_whole_log(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "BYTES_MOST", 2_000)
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        admin = await cluster.nobody.login("admin")
        whole = [row.position for row in await cluster.log.find(Sought(), 10_000)]
        found, more = list[int](), True
        while more:
            page = await admin.get(EVENTS, after=found[-1] if found else 0, limit=5)
            assert 0 < len(page["events"]) <= 5
            found += [int(event["position"]) for event in page["events"]]
            more = page["more"]
        assert found == whole
        for query in ({"limit": 1001}, {"after": -1}, {"fields": "trial_id"}, {"timeoutSeconds": 61}):
            assert (await admin.call("GET", EVENTS, params=query)).status == 400, query


async def test_a_reader_may_wait_for_what_comes_next(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        head = await cluster.log.head()
        waiting = asyncio.create_task(admin.get(EVENTS, after=head, timeoutSeconds=30))
        await cluster.tell("experiment-9", TrialRunStarted(1, 1))
        [event] = (await asyncio.wait_for(waiting, PATIENCE_S))["events"]
        assert (event["type"], int(event["position"])) == ("TrialRunStarted", head + 1)


async def test_resolute_log_tells_the_same_over_rest_as_from_the_database(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        await cluster.tell("experiment-1", ExperimentEdited({"notes": "as\nbefore: ü"}))
        story = await said_by(cluster, cli.show, "experiment-1")
        assert "trial 1 ended COMPLETED" in "\n".join(story)
        shown = [json.loads(line) for line in await said_by(cluster, cli.show, "trial-2", as_json=True)]
        assert [event["type"] for event in shown[:3]] == ["TrialCreated", "TrialRunRequested", "AllocationRequested"]
        rows = {row.position: row for row in cluster.log.rows}
        for event in shown:
            row = rows[event["position"]]
            assert (event["data"], event["prev_hash"]) == (json.loads(row.data), row.prev_hash)
            assert event["recorded_at"].startswith(row.recorded_at.isoformat()[:23])
            assert row.recorded_at.utcoffset() == timedelta(0)
        because = await said_by(cluster, cli.why, "trial-1", "stopped")
        assert because[0].startswith("trial-1")
        assert len(await said_by(cluster, cli.tail, lines=3, follow=False)) == 3
        assert await said_by(cluster, cli.aside) == ["nothing was set aside"]
        await cluster.log.set_aside("searcher", 2, "KeyError('x')")
        [aside] = await said_by(cluster, cli.aside)
        assert "searcher could not handle 2 (" in aside

"""State is the fold of the log: whatever REST shows can be told again from it, byte for byte."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from resolute.api import asking, replay
from resolute.api.kernel.growth import grow
from resolute.eventlog import MemoryEventLog
from resolute.proto.message import Event
from resolute.proto.pool import AgentJoined, AllocationRequested, Placement, Slot, SlotsAssigned
from tests.integration.api import a_search
from tests.integration.api.running import running


async def test_every_answer_is_the_same_after_the_tables_are_dropped_and_grown_again(
    postgres_dsn: str, tmp_path: Path
) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        await a_search.tell(cluster, tmp_path)
        await admin.post("/api/v1/workspaces", {"name": "vision"})
        await admin.post("/api/v1/workspaces/2/projects", {"name": "digits", "workspaceId": 2})
        read = cluster.gateway.read
        before = await asking.answers(cluster.gateway)
        await read.drop()
        await read.prepare()
        await grow(read)
        after = await asking.answers(cluster.gateway)
        assert len(before) > 50
        assert [path for path in before if before[path] != after.get(path)] == []
        broken = {path: answer for path, answer in before.items() if answer.startswith(b"5")}
        assert broken == {}


async def test_the_check_finds_nothing_on_tables_that_are_right_and_leaves_nothing_behind(
    postgres_dsn: str, tmp_path: Path
) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        gateway = cluster.gateway
        report = await replay.compare(gateway.settings, cluster.log, gateway.pool)
        assert (report.differences, report.position) == ([], await cluster.log.head())
        left = await gateway.read.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE $1", f"%{replay.REBUILT}")
        assert left == 0


async def test_the_check_names_what_was_tampered_with(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        gateway = cluster.gateway
        await gateway.read.value("UPDATE read_experiments.experiments SET name = 'forged'")
        report = await replay.compare(gateway.settings, cluster.log, gateway.pool)
        paths = [difference.path for difference in report.differences]
        assert "/api/v1/experiments/1" in paths
        assert "/api/v1/users" not in paths
        [table] = report.tables
        assert (table.table, "forged" in table.shown[0], "digits" in table.rebuilt[0]) == ("experiments", True, True)


async def test_the_check_names_states_that_cannot_be(postgres_dsn: str, tmp_path: Path) -> None:
    """Among them what earlier releases made of a restart with another set of pools."""
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        gateway = cluster.gateway
        assert (await replay.compare(gateway.settings, cluster.log, gateway.pool)).impossible == []
        joined = AgentJoined("twice", (Slot(0, "cpu"),), "host", "1")
        await cluster.tell("pool-main", joined, *held("x", "twice"), *held("y", "twice"), *held("z", "nowhere"))
        await cluster.tell("pool-other", joined)
        report = await replay.compare(gateway.settings, cluster.log, gateway.pool)
        assert report.impossible == [
            "agent twice is in several pools at once: main, other",
            "slot 0 of agent twice is held by several at once: x, y",
            "z runs on agent nowhere, which is not in its pool main",
        ]


def held(allocation_id: str, agent_id: str) -> tuple[Event, Event]:
    """An allocation that has the first slot of an agent."""
    asked = AllocationRequested(
        allocation_id=allocation_id,
        task_id=f"task of {allocation_id}",
        task_type="TRIAL",
        job_id="job",
        name="a trial",
        owner="ada",
        slots=1,
        priority=42,
        weight=1.0,
        max_slots=None,
        preemption_timeout_s=60,
    )
    return asked, SlotsAssigned(allocation_id, (Placement(f"share of {allocation_id}", agent_id, (0,)),), "a reason")


async def test_where_there_are_more_answers_than_are_compared_every_row_is_and_a_part_of_every_route(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "ASKED_MOST", 60)
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        gateway = cluster.gateway
        await gateway.read.value("DELETE FROM read_checkpoints.checkpoints WHERE uuid = $1", a_search.DROPPED)
        noted: dict[str, tuple[int, int]] = {}
        report = await replay.compare(
            gateway.settings, cluster.log, gateway.pool, lambda what, done, of: noted.update({what: (done, of)})
        )
        assert report.answers < report.questions
        assert [(table.table, table.shown, len(table.rebuilt)) for table in report.tables] == [("checkpoints", (), 1)]
        assert noted["answers compared"] == (report.answers, report.answers)
        whole = await replay.compare(gateway.settings, cluster.log, gateway.pool, every_answer=True)
        assert whole.answers == whole.questions
        assert any(
            a_search.DROPPED in difference.path or "checkpoints" in difference.path for difference in whole.differences
        )


async def test_tables_of_another_version_are_left_as_they_are(postgres_dsn: str, tmp_path: Path) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("CREATE SCHEMA read_v4; CREATE TABLE read_v4.progress (position bigint);")
    await connection.execute("INSERT INTO read_v4.progress VALUES (0)")
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        someone = await cluster.nobody.login("determined")
        assert (await someone.get("/api/v1/experiments/1"))["experiment"]["name"] == "digits"
    assert await connection.fetchval("SELECT position FROM read_v4.progress") == 0
    await connection.close()


async def test_an_event_that_cannot_be_shown_is_set_aside_and_stops_no_other(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        unreadable = AgentJoined("agent-a", (Slot(2**40, "cpu"),), "host", "1")
        await cluster.tell("pool-default", unreadable, AgentJoined("agent-b", (), "host", "1"))
        someone = await cluster.nobody.login("determined")
        assert [agent["id"] for agent in (await someone.get("/api/v1/agents"))["agents"]] == ["agent-b"]
        assert [position for _, position, _ in cluster.log.aside] == [await _position_of(cluster.log, unreadable)]


async def _position_of(log: MemoryEventLog, event: Event) -> int:
    return next(recorded.position for recorded in await log.read_all(0) if recorded.event == event)

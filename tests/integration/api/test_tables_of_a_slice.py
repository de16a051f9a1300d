"""The tables of one slice in Postgres: gateways fill them together, and versions of them grow side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from unittest import mock

import asyncpg
import pytest

from resolute.api.kernel.cache import memory_rows
from resolute.api.kernel.feed import TablesLost
from resolute.api.kernel.fold import fold
from resolute.api.kernel.growth import FEW, grow
from resolute.api.kernel.readmodel import Growing, ReadModel
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Event
from resolute.proto.pool import AgentDisabled, AgentLost
from tests.unit.api.test_rows import story
from tests.unit.api.toy_slice import TABLES, VISITORS, Visitor, joined, project, projection


@pytest.fixture
def postgres_dsn(empty_database: str) -> str:
    """The tables are made by what is tested."""
    return empty_database


@asynccontextmanager
async def database(dsn: str) -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(dsn, min_size=1, max_size=8, server_settings={"timezone": "UTC"}) as pool:
        yield pool


async def append(log: MemoryEventLog, *events: Event) -> int:
    version = len(await log.read_stream("pool-default"))
    appended = await log.append("pool-default", events, expected_version=version, cause=Cause(f"cause-{version}"))
    return appended.position


async def prepared(pool: asyncpg.Pool, log: MemoryEventLog, folder: Path, version: int = 1, *reads: int) -> ReadModel:
    read = ReadModel(pool, log, [projection(folder, version, frozenset(reads))])
    await read.prepare()
    return read


async def visitors(read: ReadModel) -> list[str]:
    return [row["agent_id"] for row in await read.rows("SELECT agent_id FROM read_toy.visitors ORDER BY agent_id")]


async def test_rows_come_back_from_postgres_as_they_were_put(postgres_dsn: str, tmp_path: Path) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, joined("a", "y"))
        await read.catch_up()
        [tables] = read.tables
        odd = [
            Visitor("not a number", "x", 1, float("nan"), (), None),
            Visitor("infinite", "x", 2, float("-inf"), (3, 1, 2), {"a": [1, None, "ü"], "b": 1.5}),
            Visitor("small", "x", 2**31 - 1, 1e-300, (0,), ["list"]),
        ]
        for visitor in odd:
            tables.rows.put(VISITORS, visitor)
        async with pool.acquire() as connection:
            await tables.write(connection)
            tables.forget()
            await append(log, joined("new", "x"))
            await tables.fold(connection, (await log.read_all(1)))
        found = {visitor.agent_id: repr(visitor) for visitor in tables.rows.where(VISITORS, "host", "x")}
        assert {name: found[name] for name in found if name != "new"} == {one.agent_id: repr(one) for one in odd}


@pytest.mark.parametrize("seed", range(4))
async def test_gateways_that_fill_the_same_tables_come_to_what_one_fold_in_memory_comes_to(
    postgres_dsn: str, tmp_path: Path, seed: int
) -> None:
    log, chance = MemoryEventLog(), Random(seed)
    async with database(postgres_dsn) as pool:
        models = [await prepared(pool, log, tmp_path) for _ in range(3)]
        events = [recorded.event for recorded in story(chance, 300)]
        while events:
            size = chance.randint(1, 20)
            position = await append(log, *events[:size])
            events = events[size:]
            await asyncio.gather(*(one.reached(position) for one in models if chance.random() < 0.7))
        await asyncio.gather(*(one.catch_up() for one in models))
        whole = memory_rows(TABLES)
        refused = [one.recorded.position for one in fold(project, whole, await log.read_all(0)).refused]
        assert sorted({position for _, position, _ in log.aside}) == refused
        shown = await models[0].rows("SELECT agent_id, host, joined, share, note FROM read_toy.visitors ORDER BY 1")
        wanted = [(one.agent_id, one.host, one.joined, one.share) for one in whole.all(VISITORS)]
        assert repr([tuple(row)[:4] for row in shown]) == repr(wanted)


async def test_rows_that_another_gateway_changed_are_read_again(postgres_dsn: str, tmp_path: Path) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        one, other = await prepared(pool, log, tmp_path), await prepared(pool, log, tmp_path)
        for _ in range(3):
            await one.reached(await append(log, joined("a")))
            await other.reached(await append(log, joined("a")))
        assert await one.value("SELECT joined FROM read_toy.visitors") == 6


async def test_a_row_that_postgres_refuses_sets_its_event_aside_and_no_other(postgres_dsn: str, tmp_path: Path) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, *(joined(f"agent-{n}", "nowhere" if n == 7 else "here") for n in range(20)))
        await read.catch_up()
        assert [position for _, position, _ in log.aside] == [8]
        assert len(await visitors(read)) == 19


async def test_tables_are_not_written_by_a_gateway_that_read_them_before_they_were_made_anew(
    postgres_dsn: str, tmp_path: Path
) -> None:
    """Their position alone does not tell: it is the same."""
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, joined("a"))
        await read.catch_up()
        await pool.execute("UPDATE read_toy_v1.progress SET grown = gen_random_uuid()")
        await pool.execute("UPDATE read_toy_v1.visitors SET joined = 10")
        await append(log, joined("a"))
        await read.catch_up()
        assert await read.value("SELECT joined FROM read_toy.visitors") == 11


async def test_tables_that_were_dropped_are_noticed_and_never_answered_from(postgres_dsn: str, tmp_path: Path) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, joined("a"))
        await read.catch_up()
        await (await prepared(pool, log, tmp_path)).drop()
        await prepared(pool, log, tmp_path)  # another gateway makes them, and they are empty
        with pytest.raises(Unavailable):
            await read.catch_up()
        assert read.lost.is_set()
        with pytest.raises(Growing):
            await visitors(read)
        await read.prepare()
        await grow(read)
        assert await visitors(read) == ["a"]


async def test_what_could_not_be_shown_is_shown_when_it_is_asked_for_again_while_another_gateway_goes_on(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read, other = await prepared(pool, log, tmp_path), await prepared(pool, log, tmp_path)
        await append(log, joined("a"), joined("b", "nowhere"), joined("c"))
        await read.catch_up()
        [(consumer, position, _)] = log.aside
        assert consumer == "read_toy_v1"
        allowed = (tmp_path / "tables.sql").read_text().replace("CHECK (host <> 'nowhere')", "")
        (tmp_path / "tables.sql").write_text(allowed)
        await log.ask_again(consumer, position)
        await read.again()
        await other.reached(await append(log, AgentDisabled("b", False)))
        await read.catch_up()
        assert (await visitors(read), await visitors(other), log.aside) == (["a", "b", "c"], ["a", "b", "c"], [])
        assert await other.value("SELECT joined FROM read_toy.visitors WHERE agent_id = 'b'") == 0


async def test_a_new_version_answers_from_the_old_tables_until_its_own_have_grown_and_never_goes_back(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        old = await prepared(pool, log, tmp_path)
        await append(log, *(joined(f"agent-{n:04}") for n in range(FEW + 200)))
        await old.catch_up()
        await pool.execute("UPDATE read_toy_v1.visitors SET joined = 99 WHERE agent_id = 'agent-0000'")
        new = await prepared(pool, log, tmp_path, 2, 1)
        assert new.answerable.is_set()
        assert await new.value("SELECT joined FROM read_toy.visitors ORDER BY agent_id LIMIT 1") == 99
        seen, growing = list[int](), asyncio.create_task(grow(new))
        while not growing.done():
            position = await append(log, joined(f"more-{len(seen)}"))
            await old.reached(position)
            await new.reached(position)
            seen.append(await new.value("SELECT count(*) FROM read_toy.visitors"))
        await growing
        assert seen == sorted(seen)
        assert await new.value("SELECT joined FROM read_toy.visitors ORDER BY agent_id LIMIT 1") == 1
        await new.reached(await append(log, AgentLost("agent-0000", "gone")))
        assert await old.value("SELECT joined FROM read_toy.visitors ORDER BY agent_id LIMIT 1") == 99
        await old.catch_up()
        assert await visitors(old) == await visitors(new)


async def test_a_new_version_that_cannot_read_the_old_tables_says_when_to_come_again(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        old = await prepared(pool, log, tmp_path)
        await append(log, *(joined(f"agent-{n}") for n in range(FEW + 200)))
        await old.catch_up()
        new = await prepared(pool, log, tmp_path, 2)
        assert not new.answerable.is_set()
        with pytest.raises(Growing) as growing:
            await visitors(new)
        assert 1 <= growing.value.retry_after_s <= 30
        await grow(new)
        assert new.answerable.is_set()
        assert len(await visitors(new)) == FEW + 200


async def test_old_tables_that_no_gateway_brings_forward_are_not_answered_from_for_long(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolute.api.kernel.readmodel.LOOKED_FOR_S", 0.2)
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        old = await prepared(pool, log, tmp_path)
        await append(log, *(joined(f"agent-{n}") for n in range(FEW + 200)))
        await old.catch_up()
        new = await prepared(pool, log, tmp_path, 2, 1)
        await new.reached(await append(log, joined("late")))
        assert not new.answerable.is_set()
        with pytest.raises(Growing):
            await visitors(new)
        await grow(new)
        assert len(await visitors(new)) == FEW + 201


async def test_a_gateway_that_was_restarted_does_not_answer_from_old_tables_that_show_less(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        await prepared(pool, log, tmp_path)
        await append(log, joined("a"))
        new = await prepared(pool, log, tmp_path, 2, 1)
        await grow(new)
        assert await visitors(new) == ["a"]
        await append(log, joined("b"))
        restarted = await prepared(pool, log, tmp_path, 2, 1)  # the old tables show nothing yet
        with pytest.raises(Growing):
            await visitors(restarted)
        await grow(restarted)
        assert await visitors(restarted) == ["a", "b"]


async def test_tables_are_not_replaced_while_somebody_reads_them_and_readers_do_not_wait_for_that(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, joined("a"), joined("b", "nowhere"))
        await read.catch_up()
        [(consumer, position, _)] = log.aside
        await log.ask_again(consumer, position)
        async with pool.acquire() as backup:
            transaction = backup.transaction()
            await transaction.start()
            await backup.fetch("SELECT * FROM read_toy_v1.houses")
            again = asyncio.create_task(read.again())
            for _ in range(20):
                async with asyncio.timeout(30):
                    assert await visitors(read) == ["a"]
                await asyncio.sleep(0.02)
            assert not again.done()
            await transaction.rollback()
        await again
        assert await visitors(read) == ["a"]
        await read.reached(await append(log, joined("c")))
        assert await visitors(read) == ["a", "c"]


async def _lost_meanwhile(read: ReadModel) -> None:
    """A question that was on its way when the tables were lost, and fails when they have been made again."""
    with read.noticing_loss():
        await read.drop()
        await read.prepare()
        await grow(read)
        raise TablesLost("noticed late")


async def test_a_question_to_tables_that_were_lost_does_not_take_those_away_that_were_made_since(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        read = await prepared(pool, log, tmp_path)
        await append(log, joined("a"))
        await read.catch_up()
        with pytest.raises(TablesLost):
            await _lost_meanwhile(read)
        assert not read.lost.is_set()
        assert await visitors(read) == ["a"]


async def test_a_question_that_waits_while_answers_move_over_is_answered_from_the_new_tables(
    postgres_dsn: str, tmp_path: Path
) -> None:
    log = MemoryEventLog()
    async with database(postgres_dsn) as pool:
        old = await prepared(pool, log, tmp_path)
        await append(log, *(joined(f"agent-{n}") for n in range(FEW + 200)))
        await old.catch_up()
        new = await prepared(pool, log, tmp_path, 2, 1)
        asked = list[asyncio.Task[list[str]]]()
        position_of = new._position_of

        async def while_closed(schema: str) -> int | None:
            asked.append(asyncio.create_task(visitors(new)))
            await asyncio.sleep(0)
            return await position_of(schema)

        with mock.patch.object(new, "_position_of", while_closed):
            await grow(new)
        assert [len(one) for one in await asyncio.gather(*asked)] == [FEW + 200] * len(asked)
        assert asked

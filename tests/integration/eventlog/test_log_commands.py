"""`resolute log tail | show | verify` on a log with a trial in it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable

import asyncpg
import pytest

from resolute.eventlog import cli
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.experiment import ExperimentEdited, TrialCreated, TrialEnded
from resolute.proto.message import Cause
from resolute.proto.pool import AllocationKillRequested, AllocationRequested


@pytest.fixture
async def dsn(postgres_dsn: str) -> str:
    log = await PostgresEventLog.open(postgres_dsn)
    trials = [TrialCreated(n, f"request-{n}", f"7.{n}", {"lr": 0.1, "layers": [1] * 40}, seed=1) for n in (41, 42)]
    cause = Cause("msg-1", actor="determined", correlation_id="req-1")
    await log.append("experiment-7", trials, expected_version=0, cause=cause)
    wanted = AllocationRequested("a-1", "7.41", "TRIAL", "job", "x" * 99, "determined", 1, 42, 1.0, None, 60, 7, 41)
    stop = AllocationKillRequested("a-1", "because we can")
    await log.append("pool-default", [wanted, stop], expected_version=0, cause=cause.then("allocate"))
    ended = [TrialEnded(41, "CANCELED", "killed by determined"), ExperimentEdited({"notes": "all\nwell"})]
    await log.append("experiment-7", ended, expected_version=2, cause=Cause("msg-2"))
    await log.close()
    return postgres_dsn


async def run(command: Callable[..., int], *arguments: object, **options: object) -> tuple[int, list[str]]:
    """Run a command as its process would, outside of this loop."""
    said: list[str] = []
    code = await asyncio.to_thread(command, *arguments, say=said.append, **options)
    return code, said


async def test_tail_prints_the_last_events_a_line_each(dsn: str) -> None:
    code, said = await run(cli.tail, dsn, lines=3, follow=False)
    assert code == 0
    beginnings = [
        '4 pool-default@2 AllocationKillRequested allocation_id=a-1 reason="because we can" ',
        '5 experiment-7@3 TrialEnded trial_id=41 outcome=CANCELED reason="killed by determined" ',
        r'6 experiment-7@4 ExperimentEdited changes={"notes":"all\nwell"} ',
    ]
    for line, beginning in zip(said, beginnings, strict=True):
        assert line.split("Z", 1)[1].lstrip().startswith(beginning)
    assert said[0].endswith("(by determined, because of msg-1/allocate)")


async def test_long_values_are_cut_to_keep_a_line_a_line(dsn: str) -> None:
    _, said = await run(cli.show, dsn, "pool-default", raw=True)
    assert f'name="{"x" * 47}…"' in said[0]
    _, said = await run(cli.show, dsn, "experiment-7", raw=True)
    assert "hparams={2 keys}" in said[0]


async def test_show_reads_like_a_story(dsn: str) -> None:
    _, said = await run(cli.show, dsn, "experiment-7")
    assert [line.split("Z", 1)[1].split(maxsplit=1)[1] for line in said][-2] == (
        "trial 41 ended CANCELED: killed by determined"
    )


async def test_show_of_a_trial_gathers_what_every_stream_says_of_it(dsn: str) -> None:
    _, said = await run(cli.show, dsn, "trial-41", as_json=True)
    assert [(event["position"], event["stream"], event["type"]) for event in map(json.loads, said)] == [
        (1, "experiment-7", "TrialCreated"),
        (3, "pool-default", "AllocationRequested"),
        (5, "experiment-7", "TrialEnded"),
    ]
    assert json.loads(said[0])["data"]["hparams"]["lr"] == 0.1
    _, said = await run(cli.show, dsn, "allocation-a-1")
    assert len(said) == 2


async def test_what_is_not_there_is_said_to_be_missing(dsn: str) -> None:
    for name in ("experiment-8", "trial-43", "nonsense", "trial-"):
        with pytest.raises(NotFound, match=name):
            await run(cli.show, dsn, name)
    with pytest.raises(NotFound, match="experiment-8"):
        await run(cli.verify, dsn, "experiment-8")


async def test_a_database_without_a_log_is_left_alone(postgres_dsn: str) -> None:
    with pytest.raises(InvalidConfig, match="holds no event log"):
        await run(cli.verify, postgres_dsn)


async def test_verify_names_the_first_broken_link(dsn: str) -> None:
    assert await run(cli.verify, dsn) == (0, ["whole: 6 events; each event follows from the one before it"])
    assert (await run(cli.verify, dsn, "pool-default"))[0] == 0
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET session_replication_role = replica")
    await connection.execute("UPDATE eventlog.events SET actor = 'nobody' WHERE position = 2")
    await connection.close()
    code, said = await run(cli.verify, dsn)
    assert code == 1
    assert said[0].startswith("broken: position 5, experiment-7@3: it does not follow from version 2")
    assert (await run(cli.verify, dsn, "pool-default"))[0] == 0
    assert (await run(cli.verify, dsn, "experiment-7"))[0] == 1


async def test_what_was_set_aside_is_listed_and_may_be_tried_again(dsn: str) -> None:
    assert await run(cli.aside, dsn) == (0, ["nothing was set aside"])
    log = await PostgresEventLog.open(dsn)
    await log.set_aside("searcher", 5, "KeyError('x')")
    _, said = await run(cli.aside, dsn)
    assert said[0].endswith("searcher could not handle 5 (experiment-7@3 TrialEnded): KeyError('x')")
    _, said = await run(cli.retry, dsn, "searcher", 5)
    assert said[0].startswith("searcher handles 5 once more")
    assert await log.asked_again("searcher") == [5]
    await log.close()
    _, said = await run(cli.aside, dsn)
    assert "to be handled once more, as asked" in said[0]
    assert json.loads((await run(cli.aside, dsn, as_json=True))[1][0])["position"] == 5
    with pytest.raises(NotFound, match="searcher 9: not set aside; what was: searcher 5"):
        await run(cli.retry, dsn, "searcher", 9)


async def test_tail_follows_until_it_is_interrupted(dsn: str) -> None:
    # Whoever runs tests in the background has them ignore interruptions, and processes inherit that.
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{hears}; from resolute.eventlog import cli; cli.tail({dsn!r}, lines=1)"
    tail = await asyncio.create_subprocess_exec(
        sys.executable, "-u", "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert tail.stdout is not None
    async with asyncio.timeout(60):
        assert b"ExperimentEdited" in await tail.stdout.readline()
        log = await PostgresEventLog.open(dsn)
        await log.append("experiment-9", [ExperimentEdited({"a": 1})], expected_version=0, cause=Cause("later"))
        assert b"experiment-9@1 ExperimentEdited" in await tail.stdout.readline()
        await log.close()
        os.kill(tail.pid, signal.SIGINT)
        assert await tail.wait() != 0

"""`resolute replay --check` over a long log: from the command's start to its verdict, and where the time goes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import uvloop
from pydantic import SecretStr

from bench.figures import Figure, tell
from bench.replay import EVENTS_EACH, tell_of
from resolute.api import replay
from resolute.api.kernel.growth import grow
from resolute.api.settings import ApiSettings
from resolute.api.shell import connect
from resolute.api.slices import read_model
from resolute.directory.shell import Directory
from resolute.eventlog.migrate import migrate
from resolute.eventlog.postgres import PostgresEventLog
from tests.servers import Postgres


class Steps:
    """When each step of the check was last heard of."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.ended_s: dict[str, float] = {}

    def __call__(self, what: str, done: int, of: int) -> None:
        self.ended_s[what] = time.perf_counter() - self._began


async def show_everything(log: PostgresEventLog, settings: ApiSettings) -> None:
    """What a gateway has done by the time that somebody checks it."""
    pool = await connect(settings)
    try:
        async with pool.acquire() as connection:
            await migrate(connection, "resolute.api", "api")
            await migrate(connection, "resolute.api.measures", "measures")
        read = read_model(pool, log)
        await read.prepare()
        await grow(read)
    finally:
        await pool.close()


async def fill(dsn: str, events: int) -> int:
    log = await PostgresEventLog.open(dsn)
    try:
        await Directory(log).seed()
        await tell_of(log, events // EVENTS_EACH)
        await show_everything(log, ApiSettings(database_url=dsn, secret=SecretStr("hush")))
        return await log.head()
    finally:
        await log.close()


def measure(events: int, check: Callable[[str, Steps], int]) -> list[Figure]:
    postgres = Postgres()
    try:
        dsn = postgres.fresh_database()
        head = uvloop.run(fill(dsn, events))
        steps, began = Steps(), time.perf_counter()
        assert check(dsn, steps) == 0
        took_s = time.perf_counter() - began
    finally:
        postgres.close()
    ended = [0.0, *steps.ended_s.values()]
    return [
        Figure("events in the log", head, "events"),
        *(Figure(f"of it, {what}", end - ended[place], "s") for place, (what, end) in enumerate(steps.ended_s.items())),
        Figure("resolute replay --check", took_s, "s"),
        Figure("for each 100,000 events", took_s * 100_000 / head, "s", 10, at_most=True),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="about how many")
    options = parser.parse_args()
    tell("replay_check", measure(options.events, replay.check))


if __name__ == "__main__":
    main()

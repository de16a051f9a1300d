"""A process full of writers, started by the tests: `python writers.py DSN NAME EVENTS`.

Two writers keep to streams of their own and two race for a shared one; each append holds one to three events.
"""

from __future__ import annotations

import asyncio
import sys

from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import WrongVersion
from resolute.proto.experiment import TrialRunStarted
from resolute.proto.message import Cause


async def main(dsn: str, name: str, appends: int) -> None:
    log = await PostgresEventLog.open(dsn)
    streams = [f"experiment-{name}.1", f"experiment-{name}.2", "experiment-shared", "experiment-shared"]
    await asyncio.gather(*(_write(log, stream, f"{name}.{i}", appends) for i, stream in enumerate(streams)))
    await log.close()


async def _write(log: PostgresEventLog, stream: str, name: str, appends: int) -> None:
    version = 0
    for number in range(appends):
        events = [TrialRunStarted(number, step) for step in range(1 + number % 3)]
        while True:
            try:
                outcome = await log.append(stream, events, expected_version=version, cause=Cause(f"{name}/{number}"))
            except WrongVersion as lost:
                version = lost.found
                continue
            version = outcome.events[-1].version
            break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

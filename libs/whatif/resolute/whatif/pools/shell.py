"""What if, asked of a real log: read from the database alone, cluster up or down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import asyncpg

from resolute import codec
from resolute.eventlog.chain import Row
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Cause, Recorded
from resolute.whatif.pools.question import Answer, Question, answer
from resolute.whatif.pools.recording import NEEDED, read


def ask(dsn: str, question: Question) -> Answer:
    """Raises InvalidConfig for a database without a log, NotFound where nothing ran."""
    return asyncio.run(_ask(dsn, question))


async def _ask(dsn: str, question: Question) -> Answer:
    log = await PostgresEventLog.open(dsn, migrating=False)
    try:
        events: list[Recorded] = []
        async for rows in log.rows():
            events += _decoded(rows)
    except asyncpg.UndefinedTableError as error:
        raise InvalidConfig("the database holds no event log: was the cluster ever started?") from error
    finally:
        await log.close()
    return answer(question, read(events, question.pool, question.since, question.until))


def _decoded(rows: Iterable[Row]) -> Iterable[Recorded]:
    """Most of a log is about other things, and is not looked into."""
    for row in rows:
        if row.type in NEEDED:
            event = codec.event_from_json(row.type, row.schema_version, row.data)
            cause = Cause(row.caused_by, row.actor, row.correlation_id, row.traceparent)
            yield Recorded(row.position, row.stream, row.version, event, cause, row.recorded_at)

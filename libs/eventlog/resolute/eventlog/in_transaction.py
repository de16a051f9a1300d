"""Appending within a transaction of the caller, so that an event and the change that it records are written together or
not at all. For commands that an operator runs on the database itself; services append through `EventLog`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg

from resolute.eventlog import append_requests
from resolute.eventlog.log import Appended
from resolute.eventlog.postgres import KEEP, READ
from resolute.eventlog.rows import check_names
from resolute.proto.message import Cause, Event
from resolute.proto.streams import Service, check_append


async def append_within(
    connection: asyncpg.Connection, stream: str, events: Sequence[Event], cause: Cause, *, service: Service
) -> Appended:
    """Append to the end of `stream`. This has to be the last step of the transaction of `connection`: until its commit
    no other process can append to the log. `service` owns the stream; the operator acts for that service.

    Raises WrongVersion when another process appended to the stream at this moment.
    """
    check_names(stream, cause)
    check_append(service, stream, (event.category for event in events))
    version = await connection.fetchval(READ["version"], stream) or 0
    answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
    request = await append_requests.encoded_request(stream, events, version, cause, answer)
    (outcome,) = await connection.fetch(KEEP["append"], *append_requests.arguments([request]))
    await append_requests.answer(request, outcome)
    return await answer

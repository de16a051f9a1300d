"""All-gather: what the peers of an allocation bring one another, kept in Postgres and answered from one copy.

Every `peers` shares of an allocation, in the order of their coming, are a round: a peer comes to the next round after
it has been answered in the one before. All that is kept has a limit. A gateway holds no share while it waits: when a
round is complete, one of its waiters reads the answer from Postgres, ready to be sent, and all of them send it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg

from resolute.api.database import outages
from resolute.proto.errors import InvalidConfig, refuse

PEERS_MAX = 4_096
UUID_MAX = 128
ROUND_MAX_BYTES = 33_554_432
"""Of one round, as JSON. An allocation keeps two complete rounds and one that is not."""
HELD_MAX_BYTES = 134_217_728
"""Of answers that one gateway has in memory at once; further rounds are answered when there is room."""
WAIT_S = 600.0
LOOK_EVERY_S = 1.0
"""A peer may have come through another gateway, which wakes nobody here."""
FORGOTTEN_S = 7_200.0

ALONE = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7201200))"

SHARES = """SELECT request_uuid, arrived, peers, coalesce(size_bytes, pg_column_size(data)) AS size_bytes,
    arrived_at < now() - make_interval(secs => $2) AS stale
FROM measures.gathered WHERE allocation_id = $1 ORDER BY arrived"""

KEEP = """INSERT INTO measures.gathered (allocation_id, request_uuid, data, peers, size_bytes)
VALUES ($1, $2, $3, $4, $5) RETURNING arrived"""

DROP = "DELETE FROM measures.gathered WHERE allocation_id = $1 AND arrived = ANY($2::bigint[])"

PRESENT = """SELECT count(*) AS came, coalesce(sum(coalesce(size_bytes, pg_column_size(data))), 0) AS size_bytes
FROM (SELECT data, size_bytes FROM measures.gathered WHERE allocation_id = $1 AND arrived >= $2
      ORDER BY arrived LIMIT $3) s"""

# Ready to be sent: what is gathered is never taken apart here.
ANSWER = """SELECT convert_to('{"data":[' || string_agg(data::text, ',' ORDER BY arrived) || ']}', 'UTF8')
FROM (SELECT arrived, data FROM measures.gathered WHERE allocation_id = $1 AND arrived >= $2
      ORDER BY arrived LIMIT $3) s"""

FORGET = "DELETE FROM measures.gathered WHERE arrived_at < now() - make_interval(secs => $1)"


@dataclass(frozen=True, slots=True)
class Share:
    """One that is there already."""

    request_uuid: str
    arrived: int
    peers: int | None
    """How many its sender expects; None where a gateway of an older release kept it."""
    size_bytes: int
    stale: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a share belongs."""

    first: int | None
    """The first share of its round; None where it is the first itself."""
    known: bool
    """Whether it is there already, because its peer asks again."""
    drop: tuple[int, ...] = ()
    """Shares that nobody can ask for any more."""


def place(shares: Sequence[Share], request_uuid: str, peers: int, size_bytes: int) -> Place:
    """The place of a share among those of its allocation. Raises InvalidConfig, Refused."""
    for number, share in enumerate(shares):
        if share.request_uuid == request_uuid:
            return Place(shares[number - number % peers].arrived, known=True)
    whole = len(shares) - len(shares) % peers
    current = [share for share in shares[whole:] if not share.stale]
    stale = tuple(share.arrived for share in shares[whole:] if share.stale)
    if others := {share.peers for share in current} - {None, peers}:
        raise InvalidConfig(f"numPeers: the peers of this round say {max(others, key=str)}; found {peers}")
    in_all = sum(share.size_bytes for share in current) + size_bytes
    if in_all > ROUND_MAX_BYTES:
        raise refuse(
            "gather",
            f"the shares of one round may have {ROUND_MAX_BYTES} bytes together; with these {size_bytes} they would "
            f"have {in_all}. Write large data to the shared storage, and gather its paths",
        )
    completes = len(current) + 1 == peers
    old = tuple(share.arrived for share in shares[: max(whole - peers, 0)]) if completes else ()
    return Place(current[0].arrived if current else None, known=False, drop=stale + old)


@dataclass(eq=False, slots=True)
class Round:
    """A round that peers wait for at this gateway."""

    allocation_id: str
    first: int
    peers: int
    came: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Task[bytes] | None = None
    waiters: int = 0
    held_bytes: int = 0


class Gathering:
    """The rounds of all allocations, as far as peers wait for them here."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._rounds: dict[tuple[str, int], Round] = {}
        self._held_bytes = 0
        self._room = asyncio.Condition()

    async def bring(self, allocation_id: str, request_uuid: str, peers: int, data: bytes) -> int:
        """Keep a peer's share, durably; the number of the first share of its round. Bringing the same twice is
        bringing it once. `data` is JSON."""
        with outages():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(ALONE, allocation_id)
                rows = await connection.fetch(SHARES, allocation_id, WAIT_S)
                found = place([Share(**row) for row in rows], request_uuid, peers, len(data))
                if found.drop:
                    await connection.execute(DROP, allocation_id, list(found.drop))
                first = found.first
                if not found.known:
                    kept = (allocation_id, request_uuid, data.decode(), peers, len(data))
                    arrived: int = await connection.fetchval(KEEP, *kept)
                    first = arrived if first is None else first
        assert first is not None  # a share that is known has a round
        if (waiting := self._rounds.get((allocation_id, first))) is not None:
            waiting.came.set()
        return first

    @asynccontextmanager
    async def answer(self, allocation_id: str, first: int, peers: int) -> AsyncIterator[bytes]:
        """The answer to a round, once all of it has come, for as long as the caller sends it; every waiter has the same
        bytes. Raises Refused when the round is not complete in time."""
        waited_for = self._rounds.setdefault((allocation_id, first), Round(allocation_id, first, peers))
        waited_for.waiters += 1
        try:
            if waited_for.answer is None:
                waited_for.answer = asyncio.create_task(self._complete(waited_for))
            yield await asyncio.shield(waited_for.answer)
        finally:
            waited_for.waiters -= 1
            if not waited_for.waiters:
                await self._let_go(waited_for)

    async def forget_old(self) -> None:
        """Delete what no peer can ask for any more: those who waited for it have given up long ago."""
        with outages():
            await self._pool.execute(FORGET, FORGOTTEN_S)

    async def _complete(self, waited_for: Round) -> bytes:
        size_bytes = await self._all_came(waited_for)
        async with self._room:
            await self._room.wait_for(lambda: not self._held_bytes or self._held_bytes + size_bytes <= HELD_MAX_BYTES)
            self._held_bytes += size_bytes
            waited_for.held_bytes = size_bytes
        with outages():
            answer: bytes = await self._pool.fetchval(
                ANSWER, waited_for.allocation_id, waited_for.first, waited_for.peers
            )
        return answer

    async def _all_came(self, waited_for: Round) -> int:
        """Wait until all shares are there; their size."""
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while True:
            waited_for.came.clear()
            with outages():
                row = await self._pool.fetchrow(PRESENT, waited_for.allocation_id, waited_for.first, waited_for.peers)
            if row["came"] >= waited_for.peers:
                return int(row["size_bytes"])
            if asyncio.get_running_loop().time() >= deadline:
                raise refuse(
                    f"gather in {waited_for.allocation_id}",
                    f"{row['came']} of {waited_for.peers} came within {WAIT_S:.0f} s",
                )
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await waited_for.came.wait()
            except TimeoutError:
                continue

    async def _let_go(self, waited_for: Round) -> None:
        self._rounds.pop((waited_for.allocation_id, waited_for.first), None)
        if waited_for.answer is not None and not waited_for.answer.done():
            waited_for.answer.cancel()
        waited_for.answer = None
        async with self._room:
            self._held_bytes -= waited_for.held_bytes
            waited_for.held_bytes = 0
            self._room.notify_all()

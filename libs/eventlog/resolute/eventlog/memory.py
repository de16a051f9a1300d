"""The log's twin in memory, for simulations and unit tests: same contract, no disk."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

import orjson

from resolute import codec
from resolute.eventlog.chain import Break, Head, Row, compare_heads, follow, link
from resolute.eventlog.log import Appended, Aside, Snapshot, Sought
from resolute.eventlog.rows import check_names, encode
from resolute.proto.errors import WrongVersion
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.streams import name_of


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _is_sought(row: Row, sought: Sought) -> bool:
    if sought.fields:
        data = orjson.loads(row.data)
        if not any(str(data.get(field)) in sought.values for field in sought.fields):
            return False
    wanted = (
        (sought.stream, row.stream),
        (sought.caused_by, row.caused_by),
        (sought.correlation_id, row.correlation_id),
    )
    return all(asked in ("", found) for asked, found in wanted) and (not sought.types or row.type in sought.types)


class MemoryEventLog:
    """Keeps everything in lists. A simulated crash of a service keeps the object, and with it the log."""

    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        self._now = now
        self._all: list[Recorded] = []
        self.rows: list[Row] = []
        """The log undecoded."""
        self._heads: dict[str, Head] = {}
        self._streams: dict[str, list[Recorded]] = defaultdict(list)
        self._causes: dict[tuple[str, str], tuple[Recorded, ...]] = {}
        self._sequences: dict[str, int] = defaultdict(int)
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._positions: dict[str, int] = defaultdict(int)
        self._grown = asyncio.Event()
        self._asides: dict[tuple[str, int], Aside] = {}
        self._attempts: set[tuple[str, int, str]] = set()

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        check_names(stream, cause)
        encoded = encode(events)
        if (written := self._causes.get((stream, cause.id))) is not None:
            return Appended(written, repeated=True)
        if not events:
            return Appended(())
        found = self._heads.get(stream, Head(0, "")).version
        if found != expected_version:
            raise WrongVersion(stream, expected_version, found)
        now = self._now()
        added = tuple(self._record(stream, step, text, event, cause, now) for step, (text, event) in enumerate(encoded))
        self._causes[stream, cause.id] = added
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
        return Appended(added)

    def _record(
        self, stream: str, step: int, encoded: codec.Encoded, event: Event, cause: Cause, now: datetime
    ) -> Recorded:
        head = self._heads.get(stream, Head(0, ""))
        position, version = len(self._all) + 1, head.version + 1
        row = Row(
            position=position,
            stream=stream,
            version=version,
            type=encoded.type,
            schema_version=encoded.schema_version,
            data=encoded.data,
            caused_by=cause.id,
            step=step,
            correlation_id=cause.correlation_id,
            actor=cause.actor,
            traceparent=cause.traceparent,
            recorded_at=now,
            prev_hash=head.hash,
        )
        recorded = Recorded(position, stream, version, event, cause, now, head.hash)
        self._heads[stream] = Head(version, link(row))
        self.rows.append(row)
        self._streams[stream].append(recorded)
        self._all.append(recorded)
        return recorded

    async def verify(self) -> Break | None:
        walked: dict[str, Head] = {}
        return follow(self.rows, walked) or compare_heads(walked, self._heads)

    async def read_stream(self, stream: str, after_version: int = 0, limit: int | None = None) -> list[Recorded]:
        history = self._streams[stream][after_version:] if stream in self._streams else []
        return history[:limit]

    async def stream_names(self, category: str) -> list[str]:
        return sorted(stream for stream in self._heads if stream.startswith(name_of(category, "")))

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        return self._all[after : after + limit]

    async def read_next(self, after: int, limit: int = 1000) -> list[Recorded]:
        return await self.read_all(after, limit)

    async def find(self, sought: Sought, limit: int) -> list[Row]:
        found = (row for row in self.rows[sought.after :] if _is_sought(row, sought))
        return list(islice(found, limit))

    async def head(self) -> int:
        return len(self._all)

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while len(self._all) <= position:
            left = deadline - asyncio.get_running_loop().time()
            try:
                # Not wait_for: before Python 3.12 it may swallow a cancellation that comes together with the event.
                async with asyncio.timeout(max(left, 0)):
                    await self._grown.wait()
            except TimeoutError:
                return len(self._all) > position
        return True

    async def reserve(self, sequence: str, count: int = 1) -> range:
        first = self._sequences[sequence] + 1
        self._sequences[sequence] += count
        return range(first, first + count)

    async def load_snapshot(self, stream: str, schema: str) -> Snapshot | None:
        return self._snapshots.get((stream, schema))

    async def save_snapshot(self, snapshot: Snapshot) -> None:
        kept = self._snapshots.get((snapshot.stream, snapshot.schema))
        if kept is None or kept.version < snapshot.version:
            self._snapshots[snapshot.stream, snapshot.schema] = snapshot

    async def load_position(self, consumer: str) -> int:
        return self._positions[consumer]

    async def save_position(self, consumer: str, position: int) -> None:
        self._positions[consumer] = max(position, self._positions[consumer])

    @property
    def aside(self) -> list[tuple[str, int, str]]:
        """The events that were set aside: the consumer, the position, and the error."""
        return [(one.consumer, one.position, one.error) for one in self._asides.values()]

    async def set_aside(self, consumer: str, position: int, error: str) -> None:
        await self.settle(consumer, position)
        row = self.rows[position - 1] if position <= len(self.rows) else None
        where = (row.stream, row.version, row.type) if row is not None else ()
        self._asides[consumer, position] = Aside(consumer, position, error, self._now(), None, *where)

    async def asides(self) -> list[Aside]:
        return list(self._asides.values())

    async def ask_again(self, consumer: str, position: int) -> bool:
        noted = self._asides.get((consumer, position))
        if noted is not None:
            self._asides[consumer, position] = replace(noted, again_at=self._now())
        return noted is not None

    async def asked_again(self, consumer: str) -> list[int]:
        asked = (one.position for one in self._asides.values() if one.consumer == consumer and one.again_at)
        return sorted(asked)

    async def settle(self, consumer: str, position: int) -> None:
        self._asides.pop((consumer, position), None)

    async def begin_attempt(self, consumer: str, position: int, run: str) -> int:
        await self.forget_attempts(consumer, position - 1)
        self._attempts.add((consumer, position, run))
        return sum(noted[:2] == (consumer, position) and noted[2] != run for noted in self._attempts)

    async def forget_attempts(self, consumer: str, position: int, run: str | None = None) -> None:
        self._attempts = {
            (noted_by, at, by)
            for noted_by, at, by in self._attempts
            if noted_by != consumer or at > position or run not in (None, by)
        }

    async def forget_attempts_of(self, prefix: str, *, but: str) -> None:
        self._attempts = {
            (noted_by, at, by)
            for noted_by, at, by in self._attempts
            if not noted_by.startswith(prefix) or noted_by == but
        }

    async def close(self) -> None:
        """Nothing to close: what was written stays with the object."""

"""The log's twin in memory, for simulations and unit tests: same contract, no disk."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from resolute.eventlog.chain import hash_of
from resolute.eventlog.log import Appended, Snapshot
from resolute.proto.errors import WrongVersion
from resolute.proto.message import Cause, Event, Recorded


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryEventLog:
    """Everything in lists; durable for as long as the object lives, which is what a simulated crash needs."""

    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        self._now = now
        self._all: list[Recorded] = []
        self._streams: dict[str, list[Recorded]] = defaultdict(list)
        self._causes: dict[tuple[str, str], tuple[Recorded, ...]] = {}
        self._sequences: dict[str, int] = defaultdict(int)
        self._snapshots: dict[str, Snapshot] = {}
        self._positions: dict[str, int] = defaultdict(int)
        self._grown = asyncio.Event()
        self.aside: list[tuple[str, int, str]] = []

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        if (written := self._causes.get((stream, cause.id))) is not None:
            return Appended(written, repeated=True)
        if not events:
            return Appended(())
        history = self._streams[stream]
        if len(history) != expected_version:
            raise WrongVersion(stream, expected_version, len(history))
        added = tuple(self._record(stream, event, cause) for event in events)
        self._causes[stream, cause.id] = added
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
        return Appended(added)

    def _record(self, stream: str, event: Event, cause: Cause) -> Recorded:
        history = self._streams[stream]
        recorded = Recorded(
            position=len(self._all) + 1,
            stream=stream,
            version=len(history) + 1,
            event=event,
            cause=cause,
            recorded_at=self._now(),
            prev_hash=hash_of(history[-1]) if history else "",
        )
        history.append(recorded)
        self._all.append(recorded)
        return recorded

    async def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        return self._streams[stream][after_version:] if stream in self._streams else []

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        return self._all[after : after + limit]

    async def head(self) -> int:
        return len(self._all)

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while len(self._all) <= position:
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self._grown.wait(), max(left, 0))
            except TimeoutError:
                return len(self._all) > position
        return True

    async def reserve(self, sequence: str, count: int = 1) -> range:
        first = self._sequences[sequence] + 1
        self._sequences[sequence] += count
        return range(first, first + count)

    async def load_snapshot(self, stream: str, schema: str) -> Snapshot | None:
        snapshot = self._snapshots.get(stream)
        return snapshot if snapshot and snapshot.schema == schema else None

    async def save_snapshot(self, snapshot: Snapshot) -> None:
        self._snapshots[snapshot.stream] = snapshot

    async def load_position(self, consumer: str) -> int:
        return self._positions[consumer]

    async def save_position(self, consumer: str, position: int) -> None:
        self._positions[consumer] = max(position, self._positions[consumer])

    async def set_aside(self, consumer: str, position: int, error: str) -> None:
        self.aside.append((consumer, position, error))

    async def close(self) -> None:
        """Nothing to close: what was written stays with the object."""

"""Many events at once are encoded, decoded and folded in steps, between which the event loop serves others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from resolute import codec
from resolute.eventlog import MemoryEventLog, append_requests
from resolute.eventlog.steps import STEP
from resolute.proto.experiment import TrialCreated
from resolute.proto.message import Cause, Event
from resolute.service import Aggregates

MANY = [TrialCreated(number, f"r{number}", f"1.r{number}", {"lr": 0.1}, number) for number in range(1, 3_001)]

AT_ONCE = 2 * STEP
"""The first turn is under way when the counting begins, and so counts for two."""


class Turns:
    """Counts what is done in each turn of the event loop."""

    def __init__(self) -> None:
        self.now, self.done = 0, Counter[int]()

    def note(self) -> None:
        self.done[self.now] += 1

    @contextmanager
    def counted(self) -> Iterator[None]:
        async def count() -> None:
            while True:
                await asyncio.sleep(0)
                self.now += 1

        counting = asyncio.create_task(count())
        try:
            yield
        finally:
            counting.cancel()


async def test_many_events_are_encoded_and_read_back_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, decoding = Turns(), Turns()
    encode, event_from_json = append_requests.encode, codec.event_from_json  # type: ignore[attr-defined]

    def encode_part(events: Sequence[Event]) -> list[tuple[codec.Encoded, Event]]:
        for _ in events:
            encoding.note()
        return list(encode(events))

    def decode_one(name: str, number: int, data: str) -> Event:
        decoding.note()
        return event_from_json(name, number, data)

    monkeypatch.setattr(append_requests, "encode", encode_part)
    monkeypatch.setattr(codec, "event_from_json", decode_one)
    answer = asyncio.get_running_loop().create_future()
    with encoding.counted(), decoding.counted():
        asked = await append_requests.encoded_request("experiment-1", MANY, 0, Cause("many"), answer)
        told = ("appended", 0, 1, [b""] * len(MANY), asked.data, None)
        assert await append_requests.answer(asked, told) == len(MANY)
    assert [recorded.event for recorded in answer.result().events] == MANY
    assert sum(encoding.done.values()) == len(MANY)
    assert max(encoding.done.values()) <= AT_ONCE
    assert max(decoding.done.values()) <= AT_ONCE


async def test_many_events_are_folded_in_steps() -> None:
    turns = Turns()

    def evolve(count: int, event: Event) -> int:
        turns.note()
        return count + 1

    folded = Aggregates(MemoryEventLog(), int, evolve)
    with turns.counted():
        await folded.execute("experiment-1", lambda count: MANY, Cause("many"))
    assert await folded.state("experiment-1") == len(MANY)
    assert max(turns.done.values()) <= AT_ONCE

"""The group writer: callers share a transaction, and one whose rows cannot be stored suffers alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from resolute.api.measures.group_writer import GroupWriter
from resolute.proto.errors import Unavailable


class Store:
    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.away = False

    async def write(self, rows: Sequence[int]) -> None:
        await asyncio.sleep(0)
        self.groups.append(list(rows))
        if self.away:
            raise Unavailable("away")
        if any(row < 0 for row in rows):
            raise ValueError("a row that cannot be stored")


async def test_those_who_come_during_a_transaction_share_the_next() -> None:
    store = Store()
    writer = GroupWriter(store.write)
    await asyncio.gather(*(writer.add([n]) for n in range(100)))
    assert [row for group in store.groups for row in group] == list(range(100))
    assert len(store.groups) <= 2


async def test_rows_that_cannot_be_stored_spoil_no_others() -> None:
    store = Store()
    writer = GroupWriter(store.write)
    outcomes = await asyncio.gather(*(writer.add([n]) for n in (1, 2, -3, 4)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), ValueError, type(None)]


async def test_an_outage_is_everybodys_at_once() -> None:
    store = Store()
    store.away = True
    writer = GroupWriter(store.write)
    outcomes = await asyncio.gather(*(writer.add([n]) for n in range(4)), return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    assert len(store.groups) <= 2
    store.away = False
    await writer.add([5])


async def test_a_caller_who_left_does_not_hold_the_others_up() -> None:
    store = Store()
    writer = GroupWriter(store.write)
    left = asyncio.create_task(writer.add([1]))
    await asyncio.sleep(0)
    left.cancel()
    await writer.add([2])
    with pytest.raises(asyncio.CancelledError):
        await left

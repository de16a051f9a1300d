"""One question to the database for all that ask it at the same moment."""

from __future__ import annotations

import asyncio

import pytest

from resolute.eventlog.shared_query import SharedQuery
from resolute.proto.errors import Unavailable


class Database:
    """Answers when it is told to, with the number of the question."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = asyncio.Event()
        self.away = False

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.answers.wait()
        if self.away:
            raise Unavailable("away")
        return number


async def test_those_who_ask_together_share_an_answer_and_a_later_one_gets_its_own() -> None:
    database = Database()
    look = SharedQuery(database.ask)
    waiting = asyncio.gather(*(look.answer() for _ in range(10)))
    await asyncio.sleep(0)
    database.answers.set()
    assert await waiting == [1] * 10
    assert await look.answer() == 2


async def test_a_caller_that_leaves_does_not_disturb_the_others() -> None:
    database = Database()
    look = SharedQuery(database.ask)
    leaving, staying = asyncio.ensure_future(look.answer()), asyncio.ensure_future(look.answer())
    await asyncio.sleep(0)
    leaving.cancel()
    database.answers.set()
    assert await staying == 1
    assert leaving.cancelled()


async def test_an_outage_reaches_all_who_asked_and_none_who_ask_later() -> None:
    database = Database()
    look = SharedQuery(database.ask)
    database.away = True
    database.answers.set()
    assert [type(one) for one in await asyncio.gather(look.answer(), look.answer(), return_exceptions=True)] == [
        Unavailable,
        Unavailable,
    ]
    database.away = False
    assert await look.answer() == 2


async def test_closing_lets_go_of_whoever_waits() -> None:
    database = Database()
    look = SharedQuery(database.ask)
    waiting = asyncio.ensure_future(look.answer())
    await asyncio.sleep(0)
    look.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting

"""A message that is larger than NATS carries is refused by name, and cuts nobody's connection."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from resolute.bus.nats import NatsBus
from resolute.proto.errors import TooLarge
from resolute.proto.experiment import EditExperiment, PreviewSearch
from resolute.proto.message import Cause, Command, Reply

CAUSE = Cause(id="req-1", actor="determined", correlation_id="req-1")
MIB = 2**20
"""What NATS carries where nothing else is set."""


async def test_a_message_is_refused_by_its_whole_size_headers_included(nats_url: str) -> None:
    bus = await NatsBus.open(nats_url)
    outages = bus._link.outages

    async def served(command: Command, cause: Cause) -> Reply:
        return Reply(1)

    await bus.serve("searcher", served)
    try:
        frame = len('{"experiment_id":1,"changes":{"notes":""}}')
        taken = refused = 0
        for spare in range(0, 400, 10):  # from a body that just fits to one that fits with its headers
            command = EditExperiment(1, {"notes": "n" * (MIB - frame - spare)})
            try:
                await bus.request(command, CAUSE, 60)
            except TooLarge:
                refused += 1
            else:
                taken += 1
        assert refused > 5
        assert taken > 5
        assert bus._link.outages == outages, "the connection was never cut"
    finally:
        await bus.close()


async def test_an_answer_that_is_too_large_is_an_error_to_the_one_who_asked(nats_url: str) -> None:
    bus = await NatsBus.open(nats_url)

    async def served(command: Command, cause: Cause) -> Reply:
        return Reply(data={"trials": "t" * 2 * MIB})

    await bus.serve("searcher", served)
    try:
        async with asyncio.timeout(15):
            with pytest.raises(TooLarge, match=r"the answer of resolute\.cmd\.searcher"):
                await bus.request(PreviewSearch({}, 1), CAUSE, 30)
    finally:
        await bus.close()


async def test_a_cause_that_makes_the_headers_large_counts(nats_url: str) -> None:
    bus = await NatsBus.open(nats_url)
    try:
        with pytest.raises(TooLarge, match="NATS carries at most 1,048,576"):
            await bus.request(PreviewSearch({}, 1), replace(CAUSE, actor="a" * MIB), 5)
        assert bus.connected
    finally:
        await bus.close()

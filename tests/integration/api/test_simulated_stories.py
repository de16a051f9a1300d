"""P2's other half: what simulated clusters lived through is shown alike by tables that grew with it, through restarts,
repetitions and two gateways at once, and by tables grown from the whole log afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby
from random import Random

import pytest

from resolute.api import asking
from resolute.api.kernel.growth import grow
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.slices import read_model
from resolute.config.pools import ResourcePool
from resolute.eventlog import MemoryEventLog
from resolute.proto.message import Recorded
from tests.integration.api.running import Running, running
from tests.simulation.stories import tell

SEEDS = (0, 9, 35, 58)
"""Of all kinds of searches, in calm and in storm, some of them deleted in the end."""


def appends(story: list[Recorded]) -> Iterator[list[Recorded]]:
    for _, together in groupby(story, key=lambda recorded: (recorded.stream, recorded.cause.id)):
        yield list(together)


async def relive(story: list[Recorded], cluster: Running, chance: Random) -> None:
    """The log grows as it did, and two gateways follow it at their own pace; now and then one of them restarts."""
    pool, log = cluster.gateway.pool, cluster.log
    models = [cluster.gateway.read, read_model(pool, log)]
    await models[1].prepare()
    for together in appends(story):
        first = together[0]
        events = [recorded.event for recorded in together]
        await log.append(first.stream, events, expected_version=first.version - 1, cause=first.cause)
        if chance.random() < 0.05:
            models[1] = read_model(pool, log)
            await models[1].prepare()
            await grow(models[1])
        if chance.random() < 0.2:
            await _show(chance.choice(models), log, chance)
    await asyncio.gather(*(model.catch_up() for model in models))


async def _show(model: ReadModel, log: MemoryEventLog, chance: Random) -> None:
    """Some of what is new, and perhaps again what is not."""
    shown = await model.position()
    batch = await log.read_all(max(0, shown - chance.choice([0, 0, 5])), chance.randint(1, 60))
    if batch:
        await model.reached(batch[0].position - 1)
        await model.handle(batch)


@pytest.mark.parametrize("seed", SEEDS)
async def test_tables_that_lived_through_a_story_show_what_the_whole_log_tells(postgres_dsn: str, seed: int) -> None:
    ended = await asyncio.to_thread(tell, seed)
    pools = tuple(ResourcePool(pool_name=name) for name in ("default", "other"))
    async with running(postgres_dsn, pools=pools) as cluster:
        await relive(ended.events, cluster, Random(seed))
        assert cluster.log.aside == []
        before = await asking.answers(cluster.gateway)
        read = cluster.gateway.read
        await read.drop()
        await read.prepare()
        await grow(read)
        after = await asking.answers(cluster.gateway)
    assert len(before) > 50
    assert [path for path in before if before[path] != after.get(path)] == []
    assert {path: answer for path, answer in before.items() if answer.startswith(b"5")} == {}

"""Every bus there is, under the same tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from resolute.bus import Bus, MemoryBus
from resolute.bus.nats import NatsBus


@pytest.fixture(params=["memory", "nats"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    made: Bus
    if request.param == "memory":
        made = MemoryBus()
    else:
        made = await NatsBus.open(request.getfixturevalue("nats_url"))
    yield made
    await made.close()

"""Many events in steps, between which the event loop serves others: a search that opens 1,000 trials writes 3,000."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

T = TypeVar("T")

STEP = 100
"""Events that are encoded, decoded or folded in a few milliseconds."""


async def in_steps(things: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """`things` in parts of at most STEP. Where all fit in one part, there is no pause."""
    for start in range(0, len(things), STEP):
        if start:
            await asyncio.sleep(0)
        yield things[start : start + STEP]

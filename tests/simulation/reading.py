"""What a simulated gateway has read of the log: the read model's tables in memory, as far as running tasks ask. The
gateway's own projections fill them, and the twins of its queries answer from them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from resolute.api.experiments.projection import PROJECTION as EXPERIMENTS
from resolute.api.identity.projection import PROJECTION as IDENTITY
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.cache import memory_rows
from resolute.api.kernel.ports import Port
from resolute.api.kernel.whereabouts import MemoryPlaces, PlaceQueries
from resolute.api.searches import queries as searches
from resolute.api.searches.memory import MemorySearches
from resolute.api.tasks import queries as tasks
from resolute.api.tasks.memory import MemoryTasks
from resolute.api.tasks.projection import PROJECTION as TASKS
from resolute.api.tasks.token_memory import MemoryTokenQueries
from resolute.api.tasks.token_queries import TOKENS
from resolute.api.trials.lookup_memory import MemoryTrialLookups
from resolute.api.trials.lookup_queries import LOOKUPS
from resolute.api.trials.projection import PROJECTION as TRIALS
from resolute.proto.message import Recorded
from resolute.service import Context

FOLDED = (EXPERIMENTS, TRIALS, TASKS)
THINGS = {kind: thing for one in FOLDED for kind, thing in one.things.items()}


class Reading:
    """The read model's twin in memory, as far as running tasks ask it. One incarnation: a restart reads again."""

    def __init__(self, context: Context, users: Sequence[User]) -> None:
        self._log = context.log
        self._position = 0
        self._one_at_a_time = asyncio.Lock()
        self._rows = memory_rows([table for one in (*FOLDED, IDENTITY) for table in one.tables])
        for user in users:
            self._rows.put(USERS, user)

    def ports(self) -> Mapping[Port[Any], Any]:
        """What answers the queries of the gateway's slices."""
        return {
            tasks.QUERIES: MemoryTasks(self._rows),
            searches.QUERIES: MemorySearches(self._rows),
            LOOKUPS: MemoryTrialLookups(self._rows),
            TOKENS: MemoryTokenQueries(self._rows),
        }

    def places(self) -> PlaceQueries:
        """Whose things are."""
        return MemoryPlaces(self._rows, THINGS)

    @property
    def shown(self) -> int:
        return self._position

    async def position(self) -> int:
        return self._position

    async def handle(self, batch: Sequence[Recorded]) -> None:
        for recorded in batch:
            if recorded.position == self._position + 1:
                self._fold(recorded)
                self._position = recorded.position

    def _fold(self, recorded: Recorded) -> None:
        for projection in FOLDED:
            if recorded.category in projection.categories:
                projection.project(recorded, self._rows)
        self._rows.written()

    async def reached(self, position: int) -> None:
        while self._position < position:
            async with self._one_at_a_time:
                await self.handle(await self._log.read_all(self._position, 500))

    async def catch_up(self) -> None:
        await self.reached(await self._log.head())

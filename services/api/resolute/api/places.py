"""Whose a thing is, and in which workspace it lies: what decides where a caller is an owner, or has a scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from resolute.api.checkpoints.lookup_queries import LOOKUPS
from resolute.api.kernel.newest import looked_for
from resolute.api.kernel.ports import Ports
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.kernel.rows import Place
from resolute.api.kernel.whereabouts import PlaceQueries
from resolute.api.queue.queries import QUERIES as QUEUE
from resolute.api.wire import whole
from resolute.proto.errors import NotFound


def missing(kind: str, value: str) -> NotFound:
    """What is said of a thing that does not exist, and of one that lies outside of the caller's scope."""
    return NotFound(f"{kind.removeprefix('readable ')} {value} not found")


@dataclass(frozen=True, slots=True)
class Places:
    """What is looked up to decide about a request."""

    read: ReadModel
    ports: Ports
    queries: PlaceQueries

    async def of(self, kind: str, value: str, seen: Callable[[Place], bool] = lambda place: True) -> Place:
        """Raises NotFound, after a look at the newest state too, when there is no such thing, or when it is not `seen`:
        both take the same way, and the same time. Raises InvalidConfig for what is no id."""
        name = await self._key(kind, value)
        if (place := await self.queries.place(kind, name)) is None or not seen(place):
            await self.read.catch_up()
            place = await self.queries.place(kind, name)
        if place is None or not seen(place):
            raise missing(kind, value)
        return place

    async def _key(self, kind: str, value: str) -> int | str:
        if kind == "job":
            return await self.ports.of(QUEUE).job_named(value)
        return whole(value, f"{kind} id") if self.read.things[kind].numbered else value

    async def experiment_of(self, checkpoint: str) -> int | None:
        """The experiment that a checkpoint belongs to. One that is not found is looked for on the newest state."""
        return await looked_for(self.read, lambda: self.ports.of(LOOKUPS).experiment_of(checkpoint))

    async def begun_from(self, checkpoint: str) -> frozenset[int]:
        """The experiments whose trials began from a checkpoint."""
        return await self.ports.of(LOOKUPS).begun_from(checkpoint)

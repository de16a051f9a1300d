"""Whose a thing is, and in which workspace it lies: what decides where a caller is an owner, or has a scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.views.jobs import job_of
from resolute.api.wire import whole
from resolute.proto.errors import NotFound


@dataclass(frozen=True, slots=True)
class Place:
    owner_id: int
    workspace_id: int | None


def missing(kind: str, value: str) -> NotFound:
    """What is said of a thing that does not exist, and of one that lies outside of the caller's scope."""
    return NotFound(f"{kind.removeprefix('readable ')} {value} not found")


async def place_of(read: ReadModel, kind: str, value: str, seen: Callable[[Place], bool] = lambda place: True) -> Place:
    """Raises NotFound, after a look at the newest state too, when there is no such thing, or when it is not `seen`:
    both take the same way, and the same time. Raises InvalidConfig for what is no id."""
    name = await _key(read, kind, value)
    if (place := await _place(read, kind, name)) is None or not seen(place):
        await read.catch_up()
        place = await _place(read, kind, name)
    if place is None or not seen(place):
        raise missing(kind, value)
    return place


async def _place(read: ReadModel, kind: str, name: int | str) -> Place | None:
    row = await read.row(read.things[kind].place, name)
    return None if row is None else Place(row["owner_id"], row["workspace_id"])


async def _key(read: ReadModel, kind: str, value: str) -> int | str:
    if kind == "job":
        return await job_of(read, value)
    return whole(value, f"{kind} id") if read.things[kind].numbered else value


EXPERIMENT_OF = "SELECT experiment_id FROM read_checkpoints.checkpoints WHERE uuid = $1"

BEGUN_FROM = "SELECT DISTINCT experiment_id FROM read_trials.trials WHERE warm_start = $1"


async def experiment_of(read: ReadModel, checkpoint: str) -> int | None:
    """The experiment that a checkpoint belongs to. One that is not found is looked for on the newest state."""
    found = await read.value(EXPERIMENT_OF, checkpoint)
    if found is None:
        await read.catch_up()
        found = await read.value(EXPERIMENT_OF, checkpoint)
    return None if found is None else int(found)


async def begun_from(read: ReadModel, checkpoint: str) -> frozenset[int]:
    """The experiments whose trials began from a checkpoint."""
    rows = await read.rows(BEGUN_FROM, checkpoint)
    return frozenset(row["experiment_id"] for row in rows)

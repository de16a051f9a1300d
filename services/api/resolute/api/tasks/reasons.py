"""The reasons that pool events record, as the documents that people are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import orjson

from resolute.api.kernel.rows import Document
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationKillRequested, AllocationWaits, PreemptionRequested

NOT_SHOWN = frozenset({"allocation_id", "still_owed", "room_slots"})
"""Fields of recorded reasons that say nothing to a person: the scheduler reads them when it folds its pool."""

SHOWN: Mapping[type[Event], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind) if field.name not in NOT_SHOWN)
    for kind in (AllocationWaits, PreemptionRequested, AllocationKillRequested)
}


def reason_of(recorded: Recorded) -> Document:
    """The fields of the event that people are shown, with its time and its actor."""
    event = recorded.event
    return reason(recorded, **{name: getattr(event, name) for name in SHOWN[type(event)]})


def reason(recorded: Recorded, **said: object) -> Document:
    """What is `said`, with the time and the actor of the event. Times are text here, as they are in the database."""
    return orjson.loads(orjson.dumps({"at": recorded.recorded_at, "actor": recorded.cause.actor, **said}))

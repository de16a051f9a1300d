"""The hash chain: each event carries the hash of its stream's previous one, so that an edited history shows."""

from __future__ import annotations

import hashlib

import orjson
from resolute import codec
from resolute.proto.message import Recorded


def hash_of(recorded: Recorded) -> str:
    """SHA-256, in hex, over everything that was decided: place, event, cause and the link to what came before.

    The data is hashed in canonical JSON with sorted keys, so that the database's own way of storing JSON does
    not matter.
    """
    event = recorded.event
    return digest(
        recorded.prev_hash,
        recorded.stream,
        recorded.version,
        type(event).__name__,
        type(event).schema_version,
        codec.dump(event),
        recorded.cause.id,
        recorded.cause.actor,
    )


def digest(*parts: object) -> str:
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()

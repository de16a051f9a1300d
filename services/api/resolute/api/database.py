"""Postgres, as the gateway meets it: a pool, and outages told as outages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from resolute.eventlog.outages import OUTAGES
from resolute.proto.errors import Unavailable


@contextmanager
def outages() -> Iterator[None]:
    """Raises Unavailable for whatever means that the database is away, the same as to the log (a full disk, a deadlock
    and a shutdown among it); the statement may or may not have run."""
    try:
        yield
    except OUTAGES as error:
        raise Unavailable(f"the database is away: {error}") from error

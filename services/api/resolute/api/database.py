"""Errors of Postgres as the gateway's own: an outage is Unavailable, a value that cannot be stored is InvalidConfig."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from resolute.eventlog.outages import classified


@contextmanager
def outages() -> Iterator[None]:
    """Raises Unavailable for whatever means that the database is away, the same as to the log (a full disk, a deadlock
    and a shutdown among it), where the statement may or may not have run; and InvalidConfig for a value that the
    database cannot hold."""
    try:
        yield
    except Exception as error:
        meant = classified(error)
        if meant is None:
            raise
        raise meant from error

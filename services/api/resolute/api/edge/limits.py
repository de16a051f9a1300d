"""Limits on connections: how many there may be, and how slow a client may be."""

from __future__ import annotations

import resource
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

FILES_WANTED = 65_536
"""Open files that the gateway asks the system for, where the hard limit allows them."""

FILES_OF_OTHERS = 256
"""Files that are no client's connection: Postgres, NATS, storage, the process's own."""


class ConnectionLimits(BaseModel):
    """`RESOLUTE_API_CONNECTIONS__MAX=4096`, or `connections: {max: 4096}` in the `api` section of the settings file.

    A connection is a stranger's until a request on it shows a valid token. From then on it is counted for the user or
    the task whose token that is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max: int = Field(default=16_384, ge=16)
    """Connections in all. The gateway takes fewer where the system allows it fewer open files."""
    strangers_max: int = Field(default=1_024, ge=1)
    """Connections that have not shown a valid token. When they are that many, each new one ends the oldest that its
    client keeps waiting, of the address that has the most."""
    per_address: int = Field(default=128, ge=1)
    """Strangers' connections of one address (one /64 network in IPv6) that may stay open while their client is slow."""
    per_caller: int = Field(default=2_048, ge=1)
    """Connections of one user, or of one task."""
    kept_for_tasks: int = Field(default=4_096, ge=0)
    """Of the connections in all, those that only running tasks may use."""
    handshake_timeout_s: float = Field(default=10, gt=0)
    """For the TLS handshake."""
    header_timeout_s: float = Field(default=20, gt=0)
    """From the first byte of a request's head, or from the connection's beginning, to the end of that head."""
    stranger_body_timeout_s: float = Field(default=30, gt=0)
    """For the whole body of a request without a valid token, which is small."""
    rate_window_s: float = Field(default=30, gt=0)
    """How long a client may be slower than `rate_min` before the connection is closed."""
    rate_min: int = Field(default=1_024, ge=1)
    """Bytes a second at which a client must send a request's body, and take its answer, over each `rate_window_s`."""
    stranger_idle_timeout_s: float = Field(default=75, gt=0)
    """For a stranger's next request on an open connection."""
    idle_timeout_s: float = Field(default=620, gt=0)
    """For the next request on a connection that has shown a valid token. It is longer than proxies keep theirs."""

    @property
    def look_every_s(self) -> float:
        """How often connections are looked at: often enough for the shortest of the limits."""
        shortest = min(
            self.header_timeout_s,
            self.stranger_body_timeout_s,
            self.rate_window_s,
            self.stranger_idle_timeout_s,
            self.idle_timeout_s,
        )
        return min(1.0, shortest / 4)


@dataclass(frozen=True, slots=True)
class Rooms:
    """How many connections of each kind there may be; the three together are never more than the files allow."""

    strangers: int
    users: int
    known: int
    """Of users and tasks together; tasks may use what users leave."""


def rooms(limits: ConnectionLimits, files: int) -> Rooms:
    """What `limits` allow in a process that may open `files` files."""
    in_all = min(limits.max, max(files - FILES_OF_OTHERS, 16))
    strangers = min(limits.strangers_max, in_all // 4)
    known = in_all - strangers
    return Rooms(strangers, max(known - limits.kept_for_tasks, known // 2), known)


def files_allowed() -> int:
    """How many files this process may open, after asking for as many as the hard limit lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return FILES_WANTED if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted

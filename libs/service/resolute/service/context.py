"""What a service gets when it starts: the log, the bus, the clock, and the cluster's shared settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from resolute.bus import Bus
from resolute.eventlog import EventLog
from resolute.service.attempts import AttemptLock
from resolute.service.restricted_log import restricted_to


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Context:
    """The argument of every service: `async def serve(context) -> None`, which serves until it is cancelled, and closes
    everything that it has opened."""

    log: EventLog
    bus: Bus
    now: Callable[[], datetime] = utc_now
    on_ready: Callable[[str], None] = field(default=lambda name: None)
    """A service calls this with its name once commands and facts reach it."""
    on_progress: Callable[[str, str], None] = field(default=lambda name, text: None)
    """A service calls this with its name while it is not ready, saying how far it has come."""
    attempt_lock: AttemptLock = field(default_factory=AttemptLock)
    """Held while an event is handled carefully: one at a time in this process (`attempts`)."""
    cluster_id: str = "simulated"
    secret: bytes = field(default=b"simulated", repr=False)
    """The cluster's secret, with which task tokens are sealed. Clusters set it; the default is for simulations."""

    def of(self, service: str) -> Context:
        """The same context with the log restricted to the streams of `service`."""
        return replace(self, log=restricted_to(self.log, service))

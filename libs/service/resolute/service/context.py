"""What a service is handed when it starts: the log, the bus, the clock, and the cluster's shared settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from resolute.bus import Bus
from resolute.eventlog import EventLog
from resolute.service.attempts import Turn
from resolute.service.own_log import own


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Context:
    """Every service is `async def serve(context) -> None`: it serves until cancelled, and leaves nothing behind."""

    log: EventLog
    bus: Bus
    now: Callable[[], datetime] = utc_now
    on_ready: Callable[[str], None] = field(default=lambda name: None)
    """A service calls this with its name once commands and facts reach it."""
    on_progress: Callable[[str, str], None] = field(default=lambda name, text: None)
    """A service calls this with its name while it is not ready, saying how far it has come."""
    turn: Turn = field(default_factory=Turn)
    """Of the reactions in this process that are handled carefully, one at a time."""
    cluster_id: str = "simulated"
    secret: bytes = field(default=b"simulated", repr=False)
    """The cluster's own, that task tokens are sealed with. Real clusters set it; the default serves simulations."""

    def of(self, service: str) -> Context:
        """The same for one service, with the log as the table of streams gives it to this service."""
        return replace(self, log=own(self.log, service))

"""The log that this gateway writes about itself follows what administrators change of it.

The event stands in the log of the cluster, so that every gateway follows it, and one that starts later does too.
"""

from __future__ import annotations

from contextlib import suppress

from resolute.api.signals import LOGGING, Signals
from resolute.eventlog import EventLog
from resolute.proto import streams
from resolute.proto.errors import Unavailable
from resolute.proto.master_config import LoggingChanged
from resolute.service.logs import own_log

LOOK_EVERY_S = 10.0
"""The bus wakes a gateway at once. A fact that the bus lost is found after this long."""


class OwnLogFollower:
    def __init__(self, log: EventLog, signals: Signals) -> None:
        self._log, self._signals = log, signals
        self._version = 0
        self.changed: LoggingChanged | None = None
        """What applies now. None: what the master configuration says."""

    async def run(self) -> None:
        while True:
            heard = self._signals.heard(LOGGING)
            with suppress(Unavailable):
                await self.look()
            if self._signals.heard(LOGGING) == heard:
                await self._signals.wait(LOGGING, timeout_s=LOOK_EVERY_S)

    async def look(self) -> None:
        """Raises Unavailable."""
        for recorded in await self._log.read_stream(streams.LOGGING_OF_CLUSTER, self._version):
            assert isinstance(recorded.event, LoggingChanged)
            self._version, self.changed = recorded.version, recorded.event
            if own := own_log():
                own.change(recorded.event.level, recorded.event.color)

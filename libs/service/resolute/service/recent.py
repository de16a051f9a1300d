"""The newest lines of this process's own log, kept in memory for whoever asks: no state, and forgotten at a restart."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

KEPT_LINES = 5000


@dataclass(frozen=True, slots=True)
class Line:
    id: int
    """1, 2, 3 … since the process began."""
    at: datetime
    level: str
    text: str


class Recent(logging.Handler):
    """A handler that remembers; its formatter says how a line reads."""

    def __init__(self, kept: int = KEPT_LINES) -> None:
        super().__init__()
        self._lines: deque[Line] = deque(maxlen=kept)
        self._last = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001  a line that cannot be told must not stop who wrote it
            self.handleError(record)
            return
        self._last += 1
        self._lines.append(Line(self._last, datetime.fromtimestamp(record.created, UTC), record.levelname, text))

    def lines(self, after: int = 0) -> list[Line]:
        """Those kept that came after the line `after`, oldest first."""
        return [line for line in list(self._lines) if line.id > after]


OWN = Recent()
"""Of this process, from when logging is configured."""

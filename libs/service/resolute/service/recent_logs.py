"""The newest lines of this process's own log, kept in memory for requests that show them, and lost at a restart."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

KEPT_LINES = 5000


@dataclass(frozen=True, slots=True)
class LogLine:
    id: int
    """1, 2, 3 … since the process began."""
    at: datetime
    level: str
    text: str


class RecentLogs(logging.Handler):
    """A log handler that keeps the newest formatted lines in memory."""

    def __init__(self, kept: int = KEPT_LINES) -> None:
        super().__init__()
        self._lines: deque[LogLine] = deque(maxlen=kept)
        self._last = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001  a line that cannot be formatted must not raise in the code that logs it
            self.handleError(record)
            return
        self._last += 1
        self._lines.append(LogLine(self._last, datetime.fromtimestamp(record.created, UTC), record.levelname, text))

    def lines(self, after: int = 0) -> list[LogLine]:
        """The kept lines that came after the line `after`, oldest first."""
        return [line for line in list(self._lines) if line.id > after]


RECENT = RecentLogs()
"""The handler of this process, in use once logging is configured."""

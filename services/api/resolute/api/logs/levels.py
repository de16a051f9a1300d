"""The levels of log lines: as they are stored, and as the wire has them."""

from __future__ import annotations

from collections.abc import Mapping

from resolute.api.logs.messages import LogLevel
from resolute.api.measures.logs import LEVELS

STORED: Mapping[LogLevel, str] = {LogLevel.UNSPECIFIED: "INFO"} | {
    LogLevel(f"LOG_LEVEL_{name}"): name for name in LEVELS
}
"""By the level that a request names: how it is stored."""

_SHOWN: Mapping[str, LogLevel] = {name: LogLevel(f"LOG_LEVEL_{name}") for name in LEVELS}


def shown(level: str) -> LogLevel:
    """The level of a line that is stored, or of one of the gateway's own."""
    return _SHOWN.get(level, LogLevel.UNSPECIFIED)

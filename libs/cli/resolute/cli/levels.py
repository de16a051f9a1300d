"""The levels of log lines, from the least to the most urgent."""

from __future__ import annotations

LEVELS = ("UNSPECIFIED", "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

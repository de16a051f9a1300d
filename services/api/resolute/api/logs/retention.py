"""For how long the log of a trial is kept, and what of it was removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Removed:
    at: datetime
    after_days: int
    lines: int

    def __str__(self) -> str:
        kept = "1 day" if self.after_days == 1 else f"{self.after_days} days"
        lines = "1 line was" if self.lines == 1 else f"{self.lines:,} lines were"
        return (
            f"{lines} removed from this log on {self.at:%Y-%m-%d at %H:%M} UTC: it was to be kept for {kept} after the "
            "trial's end (retention_policy.log_retention_days)"
        )


@dataclass(frozen=True, slots=True)
class Retention:
    ended_at: datetime | None
    days: int
    """After the trial's end; -1 is for ever."""
    removed: Removed | None

    def remaining_days(self, now: datetime) -> int | None:
        """-1 for ever; None while the trial has not ended."""
        if self.ended_at is None:
            return None
        return -1 if self.days < 0 else max(0, self.days - max(0, (now - self.ended_at).days))

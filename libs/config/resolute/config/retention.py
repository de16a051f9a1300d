"""For how long logs are kept, and when those are removed that were kept for long enough."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Protocol

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from .durations import seconds
from .pools import Section

DAILY = "0 0 * * *"
"""When logs are removed where the configuration has no schedule: at midnight."""

MANUAL = "manual"
"""The schedule of a cluster whose logs are removed by `det task cleanup-logs` alone."""

SHORTEST_S = 60.0
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 100


class Schedule(Protocol):
    def next_after(self, moment: datetime) -> datetime | None:
        """The first time after `moment`, in UTC; None for never."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """Each time that so much has passed since the beginning of 1970: all gateways, and those started later, agree."""

    span: timedelta

    def next_after(self, moment: datetime) -> datetime | None:
        return _BEGINNING + ((moment - _BEGINNING) // self.span + 1) * self.span


@dataclass(frozen=True, slots=True)
class Cron:
    """As the five fields of a crontab say, in UTC."""

    fields: str

    def next_after(self, moment: datetime) -> datetime | None:
        return next(CronSim(self.fields, moment.astimezone(UTC)), None)


@dataclass(frozen=True, slots=True)
class Never:
    def next_after(self, moment: datetime) -> datetime | None:
        return None


def schedule(text: str | None) -> Schedule:
    """Raises ValueError, saying what would do, when `text` is neither a duration nor the fields of a crontab."""
    if text is None:
        return Cron(DAILY)
    if text.strip() == MANUAL:
        return Never()
    if len(text.split()) == 1:
        return _every(text)
    try:
        CronSim(text, _BEGINNING)
    except CronSimError as error:
        raise ValueError(
            f"expected five fields as in a crontab, `0 3 * * *`, or a duration such as 24h, or {MANUAL}; "
            f"found {text[:_LONGEST]!r} ({error})"
        ) from error
    return Cron(text)


def _every(text: str) -> Every:
    span_s = seconds(text)
    if span_s < SHORTEST_S:
        raise ValueError(f"expected a duration of at least {SHORTEST_S:.0f}s; found {text[:_LONGEST]!r}")
    return Every(timedelta(seconds=span_s))


def _checked(text: str | None) -> str | None:
    schedule(text)
    return text


class RetentionPolicy(Section):
    log_retention_days: int = Field(default=-1, ge=-1, le=32767)
    """After the end of a trial whose experiment says nothing else; -1 keeps its log for ever."""
    schedule: Annotated[str | None, AfterValidator(_checked)] = None
    """When logs are removed: a duration, or the fields of a crontab in UTC; each midnight where it is left out."""

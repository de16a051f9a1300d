"""Days and months, from what a request says to the periods of an answer. Days begin at midnight in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from resolute.api.usage.messages import GetAggregated, Period
from resolute.api.usage.queries import Periods
from resolute.proto.errors import InvalidConfig

PERIODS_MOST = 3660
"""Days between the first and the last period of one answer."""


def asked_for(request: GetAggregated, now: datetime) -> Periods:
    """Raises InvalidConfig, naming the field."""
    monthly = _is_monthly(request.period)
    first, last = _day(request.start_date, "startDate"), min(_day(request.end_date, "endDate"), now)
    if monthly:
        first = first.replace(day=1)
    if (last - first).days > PERIODS_MOST:
        raise InvalidConfig(f"startDate: {first:%Y-%m-%d} is too long ago; ask for {PERIODS_MOST} days or fewer")
    return Periods(first, last, monthly)


def beginnings(periods: Periods) -> Iterator[datetime]:
    """The instant at which each of them begins."""
    began_at = periods.first
    while began_at <= periods.last:
        yield began_at
        later = began_at + timedelta(days=32 if periods.monthly else 1)
        began_at = later.replace(day=1) if periods.monthly else later


def _is_monthly(period: Period | None) -> bool:
    if period not in (Period.DAILY, Period.MONTHLY):
        found = "" if period is None else str(period)
        raise InvalidConfig(f"period: expected {Period.DAILY} or {Period.MONTHLY}; found {found!r}")
    return period is Period.MONTHLY


def _day(text: str, name: str) -> datetime:
    try:
        found = date.fromisoformat(f"{text}-01" if len(text) == len("2026-01") else text)
    except ValueError:
        raise InvalidConfig(f"{name}: expected a day, as in 2026-01-31, or a month; found {text!r}") from None
    return datetime(found.year, found.month, found.day, tzinfo=UTC)

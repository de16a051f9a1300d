"""Instants and amounts as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_INSTANT = re.compile(r"^(.*?T\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$")


def parse(text: str) -> datetime:
    """An RFC 3339 instant; fractions finer than a microsecond are cut."""
    match = _INSTANT.match(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 instant: {text!r}")
    whole, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z") else zone
    return datetime.fromisoformat(f"{whole}.{(fraction or '0')[:6]:0<6}{zone}")


def shown(text: str | None) -> str:
    """`YYYY-MM-DD HH:MM:SS+0000`, in UTC; nothing for no instant."""
    return parse(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S%z") if text else ""


def kept(days: int) -> str:
    """For how long something is kept; -1 is for ever."""
    return "for ever" if days < 0 else "for 1 day" if days == 1 else f"for {days} days"


def percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{fraction * 100:.1f}%"


def size(count: float) -> str:
    """Bytes with a unit: `117.0B`, `1.4KB`."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1024:
            return f"{count:.1f}{unit}"
        count /= 1024
    return f"{count:.1f}PB"

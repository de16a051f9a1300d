"""Which way lists are sorted, and what the words of the wire mean here."""

from __future__ import annotations

import enum
from datetime import datetime

ASC, DESC = "ORDER_BY_ASC", "ORDER_BY_DESC"


class OrderBy(enum.Enum):
    """Smallest first, or largest first."""

    ASCENDING = ASC
    ASC = ASC
    DESCENDING = DESC
    DESC = DESC


def value_of(member: enum.Enum | None) -> str | None:
    return None if member is None else str(member.value)


def time_of(text: str | None) -> datetime | None:
    """An instant of the wire, as in 2026-01-31T12:00:00.123456Z."""
    return None if not text else datetime.fromisoformat(text.replace("Z", "+00:00"))

"""When logs are removed: by a duration or a crontab's fields, at the same moments for every gateway."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from resolute.config.master import parse_master
from resolute.config.retention import schedule
from resolute.proto.errors import InvalidConfig

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "then"),
    [
        (None, datetime(2026, 2, 1, tzinfo=UTC)),
        ("24h", datetime(2026, 2, 1, tzinfo=UTC)),
        ("90m", datetime(2026, 1, 31, 13, 30, tzinfo=UTC)),
        ("30 3 * * *", datetime(2026, 2, 1, 3, 30, tzinfo=UTC)),
        ("0 3 * * sun", datetime(2026, 2, 1, 3, 0, tzinfo=UTC)),
        ("manual", None),
    ],
)
def test_a_schedule_names_the_next_time(text: str | None, then: datetime | None) -> None:
    assert schedule(text).next_after(NOON) == then


def test_a_moment_of_the_schedule_is_not_its_own_next_time() -> None:
    assert schedule("1h").next_after(NOON) == datetime(2026, 1, 31, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["soon", "0", "10s", "* * *", "61 * * * *", "0 0 31 2 *", ""])
def test_what_is_no_schedule_is_refused_with_the_field(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"retention_policy\.schedule: expected"):
        parse_master({"retention_policy": {"schedule": text}})

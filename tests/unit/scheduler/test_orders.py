"""What is ordered of an agent."""

from __future__ import annotations

import pytest

from resolute.scheduler.orders import that_fit


@pytest.mark.parametrize(
    ("sizes_bytes", "taken"),
    [((), 0), ((50, 50, 1), 2), ((1000, 1), 1), ((1, 1000), 1), ((40, 40), 2)],
)
def test_as_many_starts_are_sent_at_once_as_one_message_carries_and_never_none(
    sizes_bytes: tuple[int, ...], taken: int
) -> None:
    assert that_fit(sizes_bytes, most_bytes=100) == taken

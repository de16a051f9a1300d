"""What counts as work in a notebook, for each of the types that a configuration may choose."""

from __future__ import annotations

import pytest

from determined.exec._idle import Look, is_idle

NOTHING = Look((), (), ())
RESTING = Look(({"execution_state": "idle", "connections": 0, "last_activity": "2026-11-23T10:00:00Z"},), (), ())
WATCHED = Look(({**RESTING.kernels[0], "connections": 1},), (), ())
BUSY = Look(({**RESTING.kernels[0], "execution_state": "busy"},), (), ())
TYPED = Look((), ({"name": "1", "last_activity": "2026-11-23T10:05:00Z"},), ())
NOON = "2026-11-23T10:00:00Z"


@pytest.mark.parametrize(
    ("idle_type", "look", "before", "idle"),
    [
        ("kernels_or_terminals", NOTHING, "", True),
        ("kernels_or_terminals", RESTING, NOON, False),
        ("kernels_or_terminals", TYPED, NOON, False),
        ("kernels_or_terminals", Look((), (), ({"id": "s"},)), NOON, False),
        ("kernel_connections", RESTING, "", True),
        ("kernel_connections", WATCHED, NOON, False),
        ("kernel_connections", TYPED, "", True),
        ("activity", RESTING, NOON, True),
        ("activity", RESTING, "", False),
        ("activity", BUSY, NOON, False),
        ("activity", TYPED, NOON, False),
        ("activity", NOTHING, "", True),
    ],
)
def test_what_counts_as_work_is_chosen_by_the_configuration(
    idle_type: str, look: Look, before: str, idle: bool
) -> None:
    assert is_idle(idle_type, look, before) is idle

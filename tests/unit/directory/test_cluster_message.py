"""The message that everybody is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from resolute.directory import cluster_message
from resolute.directory.cluster_message import ClusterMessage, decide
from resolute.proto.cluster_message import (
    ClearClusterMessage,
    ClusterMessageCleared,
    ClusterMessageSet,
    SetClusterMessage,
)
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Event

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
SOON = ClusterMessageSet("maintenance", NOW, LATER)


def after(*events: Event) -> ClusterMessage:
    return reduce(cluster_message.evolve, events, ClusterMessage())


def test_there_is_one_message_at_a_time() -> None:
    assert decide(SetClusterMessage("maintenance", NOW, NOW, LATER), after()) == [SOON]
    assert decide(SetClusterMessage("maintenance", NOW, NOW, LATER), after(SOON)) == []
    other = ClusterMessageSet("all is well", NOW)
    assert decide(SetClusterMessage("all is well", NOW, NOW), after(SOON)) == [other]
    assert after(SOON, other).current == other


def test_a_message_is_cleared_once() -> None:
    assert decide(ClearClusterMessage(), after(SOON)) == [ClusterMessageCleared()]
    assert decide(ClearClusterMessage(), after(SOON, ClusterMessageCleared())) == []


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (SetClusterMessage("", NOW, NOW), "message"),
        (SetClusterMessage("  ", NOW, NOW), "message"),
        (SetClusterMessage("m" * 251, NOW, NOW), "message"),
        (SetClusterMessage("m", NOW, LATER, LATER), "endTime"),
        (SetClusterMessage("m", NOW, EARLIER - timedelta(hours=1), EARLIER), "endTime"),
        (SetClusterMessage("m", NOW, EARLIER, NOW), "endTime"),
    ],
)
def test_a_message_that_nobody_would_be_shown_is_refused(command: SetClusterMessage, field: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"^{field}: expected"):
        decide(command, after())


def test_a_message_of_250_characters_that_began_before_is_taken() -> None:
    assert decide(SetClusterMessage("m" * 250, NOW, EARLIER, LATER), after())

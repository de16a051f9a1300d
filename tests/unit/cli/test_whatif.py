"""What `resolute replay` understands of a what-if, and what it says to words that make none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from resolute.cli.commands.whatif import question
from resolute.cli.errors import CliError
from resolute.cli.parser import parse
from resolute.cli.surface import RESOLUTE
from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.errors import InvalidConfig
from resolute.proto.queue import PolicyName
from resolute.whatif.pools.question import Question

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def asked(*words: str, known: ResourcePool | None = None) -> Question:
    return question(parse(RESOLUTE, ["replay", *words]), known, NOW)


def test_what_is_not_said_is_left_to_the_log_and_the_settings() -> None:
    was = ResourcePool(
        pool_name="gpu", scheduler=Scheduler(type=PolicyName.PRIORITY, preemption=True, fitting_policy="worst")
    )
    found = asked("--policy", "fair_share", "--weights", "12=2.5", known=was)
    assert found.recorded == was
    assert (found.policy, found.preemption, found.recorded_policy) == ("fair_share", None, None)
    assert found.weights == {"12": 2.5}


def test_preemption_alone_is_a_question() -> None:
    assert asked("--preemption").preemption is True
    assert asked("--no-preemption").preemption is False


def test_times_are_instants_in_utc_or_so_long_ago() -> None:
    found = asked("--agents", "2", "--from", "36h", "--to", "2026-01-31T10:00")
    assert found.since == NOW - timedelta(hours=36)
    assert found.until == datetime(2026, 1, 31, 10, tzinfo=UTC)


def test_no_difference_is_no_question() -> None:
    with pytest.raises(CliError, match=r"say --policy.*or --check"):
        asked("--pool", "gpu")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--agents", "0"), "--agents: found 0; 1 or more would do"),
        (("--policy", "fifo", "--from", "yesterday"), "--from: found 'yesterday'"),
        (("--weights", "12"), "as in 12=2.5"),
        (("--weights", "12=-1"), "as in 12=2.5"),
    ],
)
def test_what_cannot_be_is_named_with_what_would_do(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(InvalidConfig, match=says):
        asked(*words)

"""Which lines count for a log policy."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from resolute.api.log_policies import Policy, Watched
from resolute.proto.pool import LogLine

HOPELESS = Policy("hopeless", "no such file", "cancel_retries")


def line(number: int, text: str) -> LogLine:
    return LogLine("1.t", "1.t.1", 0, number, datetime(2026, 1, 1, tzinfo=UTC), "INFO", "stdout", text, "agent-1", "c")


def test_a_configuration_that_a_script_prints_does_not_match_the_patterns_it_spells_out() -> None:
    config = {"name": "digits", "log_policies": [{"name": HOPELESS.name, "pattern": HOPELESS.pattern}]}
    printed = [line(1, f"config: {json.dumps(config)}"), line(2, str(config))]
    watched = Watched(1, 1, 1, [HOPELESS])
    assert watched.matches(printed) == []
    [(policy, found)] = watched.matches([*printed, line(3, "open: no such file")])
    assert (policy, found.sequence) == (HOPELESS, 3)

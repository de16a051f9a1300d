"""What administrators change of the log that the gateways write about themselves."""

from __future__ import annotations

import random
from functools import reduce

from resolute.directory import logging_changes
from resolute.directory.logging_changes import Logging, decide
from resolute.proto.master_config import ChangeLogging, LoggingChanged, LogLevel
from resolute.proto.message import Event


def after(*events: Event) -> Logging:
    return reduce(logging_changes.evolve, events, Logging())


def test_what_a_change_does_not_name_stays() -> None:
    debug = LoggingChanged(LogLevel.DEBUG)
    assert decide(ChangeLogging(changes_level=True, level=LogLevel.DEBUG), after()) == [debug]
    plain = LoggingChanged(LogLevel.DEBUG, color=False)
    assert decide(ChangeLogging(changes_color=True, color=False), after(debug)) == [plain]
    assert decide(ChangeLogging(changes_level=True), after(debug, plain)) == [LoggingChanged(None, color=False)]


def test_a_change_to_what_is_there_already_decides_nothing() -> None:
    debug = LoggingChanged(LogLevel.DEBUG)
    assert decide(ChangeLogging(changes_level=True, level=LogLevel.DEBUG), after(debug)) == []
    assert decide(ChangeLogging(changes_level=True), after()) == []
    assert decide(ChangeLogging(), after(debug)) == []


def test_any_story_ends_with_the_values_that_were_named_last() -> None:
    chance, found, level, color = random.Random(98), Logging(), None, None
    for _ in range(500):
        command = ChangeLogging(
            chance.random() < 0.5, chance.random() < 0.5, chance.choice([None, *LogLevel]), chance.choice([None, True])
        )
        level = command.level if command.changes_level else level
        color = command.color if command.changes_color else color
        found = reduce(logging_changes.evolve, decide(command, found), found)
        assert found.current == LoggingChanged(level, color)

"""`det master config set`: what it sends, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.cli.conftest import FakeMaster

Det = Callable[..., Any]
PATH = "PATCH /api/v1/master/config"


def test_only_what_is_given_is_sent(master: FakeMaster, det: Det) -> None:
    master.on(PATH, {})
    assert det("master config set --log.level DEBUG").status == 0
    body = {"config": {"log": {"level": "LOG_LEVEL_DEBUG"}}, "fieldMask": {"paths": ["log.level"]}}
    assert master.last(PATH).body == body
    assert "after a restart" in det("master config set --log.color off").out
    assert master.last(PATH).body == {"config": {"log": {"color": False}}, "fieldMask": {"paths": ["log.color"]}}


def test_a_change_of_nothing_is_refused(master: FakeMaster, det: Det) -> None:
    outcome = det("master config set")
    assert outcome.status == 1
    assert "--log.level" in outcome.err

"""The log of a process changes its level and its colour while the process runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog

from resolute.service import logs
from tests.own_log import logging_as_before

log_ = structlog.get_logger()


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    with logging_as_before():
        yield


def own(form: Literal["json", "text"]) -> logs.OwnLog:
    logs.configure("test", "info", form)
    found = logs.own_log()
    assert found is not None
    return found


def write(logger: structlog.typing.FilteringBoundLogger) -> None:
    logger.debug("fine")
    logger.warning("coarse")
    logging.getLogger("a.library").debug("library")


def test_lines_below_the_level_are_left_out_until_the_level_changes(capsys: pytest.CaptureFixture[str]) -> None:
    ours, cached = own("json"), structlog.get_logger()
    write(cached)
    assert "coarse" in capsys.readouterr().err
    ours.change("debug", None)
    write(cached)
    written = capsys.readouterr().err
    assert [word in written for word in ("fine", "coarse", "library")] == [True, True, True]
    ours.change("critical", None)
    write(cached)
    assert capsys.readouterr().err == ""
    ours.change(None, None)
    assert ours.level_name == "info"
    write(cached)
    written = capsys.readouterr().err
    assert [word in written for word in ("fine", "coarse", "library")] == [False, True, False]


def test_text_is_coloured_when_asked_and_json_lines_never_are(capsys: pytest.CaptureFixture[str]) -> None:
    text = own("text")
    write(log_)
    assert "\x1b[" not in capsys.readouterr().err, "this is no terminal"
    text.change(None, True)
    write(log_)
    assert "\x1b[" in capsys.readouterr().err
    text.change(None, False)
    assert not text.color
    json = own("json")
    json.change(None, True)
    assert not json.color


def test_a_program_that_did_not_configure_the_log_keeps_its_own() -> None:
    assert logs.own_log() is None

"""Waiting through a master that is away for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from resolute.cli import retrying
from resolute.cli.errors import ApiError, NotFound, Unreachable


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "PAUSE_S", 0.0)


def asking(*answers: Exception | str) -> Callable[[], str]:
    left: Iterator[Exception | str] = iter(answers)

    def ask() -> str:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


def test_a_master_that_comes_back_is_asked_on_and_the_person_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    away = [Unreachable("no answer"), ApiError(503, "the database is away"), Unreachable("no answer")]
    assert retrying.retry_while_unreachable(asking(*away, "done")) == "done"
    said = capsys.readouterr().err.splitlines()
    assert said == ["The master is away (no answer); waiting for it...", "The master is back."]


def test_an_answer_that_is_a_no_is_not_waited_out() -> None:
    with pytest.raises(NotFound):
        retrying.retry_while_unreachable(asking(NotFound(404, "no such experiment"), "never asked"))


def test_a_master_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "PATIENCE_S", -1.0)
    with pytest.raises(Unreachable):
        retrying.retry_while_unreachable(asking(Unreachable("no answer"), "never asked"))

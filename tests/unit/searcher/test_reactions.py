"""Which of an experiment's edits another service has to hear of."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.proto.experiment import ExperimentEdited, TrialRunRequested
from resolute.searcher.reactions import concerns_no_other_service

OF_THE_POOL: dict[str, Any] = {"priority": 7, "weight": 2.0, "max_slots": None, "resource_pool": "other"}


@pytest.mark.parametrize("name", OF_THE_POOL)
def test_an_edit_of_what_the_pool_keeps_concerns_the_scheduler(name: str) -> None:
    assert not concerns_no_other_service(ExperimentEdited({name: OF_THE_POOL[name], "notes": "x"}))


@pytest.mark.parametrize("name", ["name", "description", "notes", "labels", "max_restarts", "log_retention_days"])
def test_an_edit_of_anything_else_concerns_no_other_service(name: str) -> None:
    assert concerns_no_other_service(ExperimentEdited({name: "x"}))


def test_other_events_are_decided_with_the_experiment() -> None:
    assert not concerns_no_other_service(TrialRunRequested(1, 1, "1.task.1", 1, None, 0))

"""What the client of a custom search is told of its trials' ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from resolute.api.searches.events import SearchHistory
from resolute.proto.experiment import TrialCreated, TrialEarlyExitReported, TrialEnded
from resolute.proto.message import Cause, Event, Recorded


def told(*events: Event) -> list[dict[str, Any]]:
    """Of trial 1, after its creation."""
    history = SearchHistory()
    for version, event in enumerate((TrialCreated(1, "first", "1.first", {}, 7), *events), 1):
        recorded = Recorded(
            version, "experiment-1", version, event, Cause(f"c-{version}"), datetime(2026, 1, 1, tzinfo=UTC)
        )
        history.add(recorded)
    return [{k: v for k, v in event.items() if k != "id"} for event in list(history.pending.values())[1:]]


@pytest.mark.parametrize(
    ("reported", "outcome", "reason"),
    [
        ("INVALID_HP", "COMPLETED", "INVALID_HP"),
        ("USER_REQUESTED_STOP", "COMPLETED", "USER_REQUESTED_STOP"),
        ("MISCONFIGURED", "ERROR", "ERRORED"),  # of which the wire has no word
        ("INVALID_HP", "CANCELED", "USER_CANCELED"),
        (None, "ERROR", "ERRORED"),
        (None, "CANCELED", "USER_CANCELED"),
    ],
)
def test_a_trial_that_exits_early_is_told_of_once(reported: str | None, outcome: str, reason: str) -> None:
    report = [TrialEarlyExitReported(1, reported)] if reported else []
    ends = told(*report, TrialEnded(1, outcome, "because"))
    assert ends == [{"trialExitedEarly": {"requestId": "first", "exitedReason": f"EXITED_REASON_{reason}"}}]


@pytest.mark.parametrize("reported", [None, "MISCONFIGURED"])
def test_a_trial_that_completes_is_closed(reported: str | None) -> None:
    report = [TrialEarlyExitReported(1, reported)] if reported else []
    assert told(*report, TrialEnded(1, "COMPLETED", "")) == [{"trialClosed": {"requestId": "first"}}]

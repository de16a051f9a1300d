"""What the gateway's rows of the use of checkpoints come to."""

from __future__ import annotations

import pytest

from resolute.api.sources.projection import PROJECTION, USES, Use
from resolute.proto.checkpoint import CheckpointUsed
from resolute.proto.experiment import ExperimentDeleted
from tests.unit.api.folding import Folding

USED = CheckpointUsed("a", 3, 8, "INFERENCE")


def after(*events: CheckpointUsed) -> Folding:
    folding = Folding(PROJECTION, "checkpoints-7")
    folding.given(*events)
    return folding


def test_a_use_names_both_experiments() -> None:
    assert after(USED).row(USES, "a", 3) == Use("a", 3, 7, 8, "INFERENCE", 0, 0)


def test_a_later_report_of_the_same_trial_replaces_the_first() -> None:
    later = CheckpointUsed("a", 3, 8, "FINE_TUNING", 1, 2)
    assert after(USED, later).row(USES, "a", 3) == Use("a", 3, 7, 8, "FINE_TUNING", 1, 2)


@pytest.mark.parametrize("deleted", [7, 8])
def test_a_use_goes_with_either_experiment(deleted: int) -> None:
    folding = after(USED, CheckpointUsed("b", 4, 9, "INFERENCE"))
    folding.given(ExperimentDeleted(), stream=f"experiment-{deleted}")
    assert [row.checkpoint for row in folding.all(USES)] == ([] if deleted == 7 else ["b"])

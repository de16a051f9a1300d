"""What a PATCH of an experiment asks the searcher to change."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.experiments.action_messages import ExperimentChange
from resolute.api.experiments.changing import changes_of
from resolute.api.kernel.reading import expect_given
from resolute.proto.errors import InvalidConfig


@pytest.mark.parametrize(
    ("patch", "changes"),
    [
        ({}, {}),
        ({"name": None, "resources": None, "checkpointStorage": {}}, {}),
        ({"name": "", "notes": "seen", "maxRestarts": "3"}, {"name": "", "notes": "seen", "max_restarts": 3}),
        ({"description": "of digits", "labels": ["b", "a"]}, {"description": "of digits", "labels": ("b", "a")}),
        ({"labels": []}, {"labels": ()}),
        ({"resources": {"maxSlots": None}}, {"max_slots": None}),
        ({"resources": {"maxSlots": 0, "priority": 5, "weight": 2}}, {"max_slots": 0, "priority": 5, "weight": 2.0}),
        ({"resources": {"priority": None, "weight": None, "resourcePool": ""}}, {}),
        ({"resources": {"resourcePool": "fast"}}, {"resource_pool": "fast"}),
        (
            {"checkpointStorage": {"saveTrialBest": 0, "saveExperimentBest": 2, "saveTrialLatest": None}},
            {"save_trial_best": 0, "save_experiment_best": 2},
        ),
    ],
)
def test_what_is_left_out_or_null_stays_and_no_limit_is_a_null_of_its_own(
    patch: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert changes_of(ExperimentChange.model_validate(patch)) == changes


def test_a_weight_is_a_number_with_a_fraction() -> None:
    weight = changes_of(ExperimentChange.model_validate({"resources": {"weight": 2}}))["weight"]
    assert isinstance(weight, float)


def test_what_a_change_cannot_do_without_is_named() -> None:
    assert expect_given(0, "numDays") == 0
    with pytest.raises(InvalidConfig, match="numDays: is missing"):
        expect_given(None, "numDays")

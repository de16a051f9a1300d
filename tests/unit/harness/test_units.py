"""Lengths, periods, and what a configuration says of them."""

from __future__ import annotations

import types
from typing import Any

import pytest

from determined import errors
from determined.pytorch import Batch, Epoch
from determined.pytorch._from_config import fit_arguments
from determined.pytorch._plan import plan
from determined.pytorch._units import is_due, progress, total_batches


def test_a_period_is_due_at_its_multiples_and_a_schedule_at_its_counts() -> None:
    assert [n for n in range(1, 13) if is_due(Batch(5), n, 4)] == [5, 10]
    assert [n for n in range(1, 13) if is_due(Epoch(2), n, 4)] == [8]
    assert [n for n in range(1, 13) if is_due(Batch([3, 7]), n, 4)] == [3, 7]
    assert [n for n in range(1, 4) if is_due(Batch(0), n, 4)] == [1, 2, 3]
    assert not is_due(None, 5, 4)
    assert not is_due(Epoch(1), 5, None)


def test_progress_goes_from_zero_to_one() -> None:
    assert progress(Batch(8), 2, 4) == 0.25
    assert progress(Epoch(2), 7, 4) == 0.5
    assert progress(Batch(8), 99, 4) == 1.0
    assert total_batches(Epoch(3), 4) == 12


CONTEXT: Any = types.SimpleNamespace(get_global_batch_size=lambda: 64)


def test_records_are_divided_by_the_batch_size_and_zero_is_never() -> None:
    arguments = fit_arguments(
        {
            "searcher": {"max_length": {"records": 640}},
            "min_validation_period": {"records": 10},
            "min_checkpoint_period": {"batches": 0},
            "scheduling_unit": 7,
        },
        CONTEXT,
    )
    assert arguments["max_length"].value == 10
    assert arguments["validation_period"].value == 1
    assert arguments["checkpoint_period"] is None
    assert arguments["reporting_period"].value == 7
    assert arguments["checkpoint_policy"] == "best"


def test_epochs_are_rounds_of_the_loader_unless_the_configuration_counts_records() -> None:
    by_loader = fit_arguments({"searcher": {"max_length": {"epochs": 5}}}, CONTEXT)["max_length"]
    assert isinstance(by_loader, Epoch)
    counted = fit_arguments({"records_per_epoch": 640, "searcher": {"max_length": {"epochs": 5}}}, CONTEXT)
    assert isinstance(counted["max_length"], Batch)
    assert counted["max_length"].value == 50


@pytest.mark.parametrize("length", [None, {}, {"batches": "many"}, {"batches": 1, "epochs": 1}])
def test_a_length_that_makes_no_sense_is_named(length: dict[str, Any] | None) -> None:
    with pytest.raises(errors.InvalidExperimentException, match=r"searcher\.max_length"):
        fit_arguments({"searcher": {"max_length": length}}, CONTEXT)


def arguments(**changes: Any) -> dict[str, Any]:
    usual = {
        "max_length": Batch(1),
        "reporting_period": Batch(100),
        "validation_period": None,
        "checkpoint_period": None,
        "checkpoint_policy": "best",
        "step_zero_validation": False,
        "test_mode": False,
        "on_cluster": False,
    }
    return {**usual, **changes}


def test_off_the_cluster_the_best_is_unknown_so_all_are_kept() -> None:
    assert plan(**arguments()).checkpoint_policy == "all"
    assert plan(**arguments(on_cluster=True)).checkpoint_policy == "best"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"max_length": None}, ValueError),
        ({"max_length": Batch([1])}, TypeError),
        ({"validation_period": 5}, TypeError),
        ({"checkpoint_policy": "some"}, ValueError),
        ({"test_mode": True, "on_cluster": True}, ValueError),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(changes))):
        plan(**arguments(**changes))

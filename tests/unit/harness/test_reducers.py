"""Metrics over batches and slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from determined.pytorch import MetricReducer, Reducer
from determined.pytorch._reducers import (
    _PyTorchReducerContext,
    interleave,
    reduce_batches,
    reduce_ranks,
    reduce_values,
)


class Total(MetricReducer):
    def __init__(self, result: Callable[[Any], Any] = lambda total: total) -> None:
        self.values: list[int] = []
        self.result = result

    def reset(self) -> None:
        self.values = []

    def per_slot_reduce(self) -> Any:
        return sum(self.values)

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        return self.result(sum(per_slot_metrics))


def on_two_slots(mine: list[Any]) -> list[list[Any]]:
    return [mine, [value * 10 for value in mine]]


def test_a_reducer_sees_every_slot() -> None:
    context = _PyTorchReducerContext(on_two_slots)
    total = Total()
    context.wrap_reducer(total, name="total")
    total.values += [1, 2]
    assert context.reduce_metrics(for_training=True) == {"total": 33}
    context.reset_reducers()
    assert context.reduce_metrics(for_training=True) == {"total": 0}


def test_a_function_gets_all_values_in_the_order_of_the_data() -> None:
    context = _PyTorchReducerContext(lambda mine: [mine, [["b", "d"]]])
    values: Any = context.wrap_reducer("".join, name="word")
    for letter in "ace":
        values.update(letter)
    assert context.reduce_metrics(for_training=False) == {"word": "abcde"}
    assert interleave([[1, 4], [2], [3, 5]]) == [1, 2, 3, 4, 5]


def test_a_reducer_is_run_only_where_it_was_wanted() -> None:
    context = _PyTorchReducerContext(lambda mine: [mine])
    context.wrap_reducer(Total(), name="t", for_validation=False)
    assert context.reduce_metrics(for_training=False) == {}


def test_a_name_goes_with_one_value_and_no_name_with_a_dict() -> None:
    context = _PyTorchReducerContext(lambda mine: [mine])
    context.wrap_reducer(Total(lambda total: {"a": total, "b": total}))
    assert context.reduce_metrics(for_training=True) == {"a": 0, "b": 0}
    context.wrap_reducer(Total(lambda total: {"a": total}), name="x")
    with pytest.raises(AssertionError, match="with name set but it returned a dict anyway"):
        context.reduce_metrics(for_training=True)
    context = _PyTorchReducerContext(lambda mine: [mine])
    context.wrap_reducer(Total())
    with pytest.raises(AssertionError, match="name=None but it did not return a dict"):
        context.reduce_metrics(for_training=True)


def test_a_reducer_is_wrapped_once() -> None:
    context = _PyTorchReducerContext(lambda mine: [mine])
    total = context.wrap_reducer(Total(), name="a")
    with pytest.raises(AssertionError, match="wrapped already"):
        context.wrap_reducer(total, name="b")


def test_batches_become_one_value_as_the_reducer_says() -> None:
    values = [np.array(1.0), np.array(4.0)]
    assert [float(reduce_values(reducer, values)) for reducer in Reducer] == [2.5, 5.0, 4.0, 1.0]


def test_batches_with_different_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match="same names in each batch"):
        reduce_batches([{"a": 1}, {"b": 1}], {"a": Reducer.AVG, "b": Reducer.AVG}, [1, 1])


def test_a_rank_counts_as_much_as_it_has_batches_and_one_without_any_not_at_all() -> None:
    ranks = [({"a": 1.0}, 3), ({"a": 5.0}, 1), ({}, 0)]
    assert reduce_ranks(ranks, {"a": Reducer.AVG}) == {"a": 2.0}
    assert reduce_ranks(ranks, {"a": Reducer.SUM}) == {"a": 6.0}

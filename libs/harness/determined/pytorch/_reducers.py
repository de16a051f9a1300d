"""Metrics over all slots: how batches' values become one, and reducers of the user's own."""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class Reducer(enum.Enum):
    """How the values of the batches of a validation become one."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


class MetricReducer(abc.ABC):
    """A metric that needs more than a mean of batches, computed over all slots."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Before every stretch of training and every validation."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """At the end, once on each slot. The result is sent to all other slots, so keep it small."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        """Combines the results of all slots, in the order of ranks, to the metric or a dict of metrics."""


class _FunctionReducer(MetricReducer):
    """A function over every value that was given to `update`, in the order of the data."""

    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        self._function = function
        self._values: list[Any] = []

    def update(self, value: Any) -> None:
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> list[Any]:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        return self._function(interleave(per_slot_metrics))


def interleave(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Takes one element of each list in turn. This restores the order of batches that were dealt out to the slots."""
    longest = max((len(one) for one in lists), default=0)
    return [one[position] for position in range(longest) for one in lists if position < len(one)]


@dataclass(frozen=True, slots=True)
class _WrappedReducer:
    reducer: MetricReducer
    name: str | None
    for_training: bool
    for_validation: bool


class _PyTorchReducerContext:
    """Holds the reducers of a trial and runs them."""

    def __init__(self, allgather: Callable[[Any], list[Any]]) -> None:
        self._allgather = allgather
        self._wrapped_reducers: list[_WrappedReducer] = []

    def wrap_reducer(
        self,
        reducer: Callable[[list[Any]], Any] | MetricReducer,
        name: str | None = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Register a metric. A function becomes an object whose `update(value)` is called as values come.

        Under a name the result is one metric; without one it is a dict of metrics.
        """
        wrapped = reducer if isinstance(reducer, MetricReducer) else _FunctionReducer(reducer)
        assert all(known.reducer is not wrapped for known in self._wrapped_reducers), (
            "this reducer was wrapped already; wrap each one once"
        )
        self._wrapped_reducers.append(_WrappedReducer(wrapped, name, for_training, for_validation))
        return wrapped

    def reset_reducers(self) -> None:
        for wrapped in self._wrapped_reducers:
            wrapped.reducer.reset()

    def reduce_metrics(self, for_training: bool) -> dict[str, Any]:
        """The reducers' metrics, on every rank alike. Every rank calls it."""
        wanted = [
            wrapped
            for wrapped in self._wrapped_reducers
            if (wrapped.for_training if for_training else wrapped.for_validation)
        ]
        if not wanted:
            return {}
        gathered = self._allgather([wrapped.reducer.per_slot_reduce() for wrapped in wanted])
        return self.run_cross_slot_reduction(wanted, gathered)

    def run_cross_slot_reduction(self, reducables: list[_WrappedReducer], gathered: list[Any]) -> dict[str, Any]:
        """`gathered` has, for each slot, one value for each of `reducables`."""
        metrics: dict[str, Any] = {}
        for position, wrapped in enumerate(reducables):
            value = wrapped.reducer.cross_slot_reduce([slot[position] for slot in gathered])
            metrics.update(_named(wrapped, value))
        return metrics


def _named(wrapped: _WrappedReducer, value: Any) -> dict[str, Any]:
    kind = type(wrapped.reducer).__name__
    if wrapped.name is None:
        assert isinstance(value, dict), (
            f"the reducer {kind} has name=None but it did not return a dict; it returned {value!r}"
        )
        return value
    assert not isinstance(value, dict), (
        f"the reducer {kind} was wrapped with name set but it returned a dict anyway: {value!r}"
    )
    return {wrapped.name: value}


def reduce_values(reducer: Reducer, values: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """Reduces values to one; `weights` are used by AVG only."""
    stacked = np.asarray(values)
    match reducer:
        case Reducer.AVG:
            return np.average(stacked, axis=0, weights=weights)
        case Reducer.SUM:
            return stacked.sum(axis=0)
        case Reducer.MAX:
            return stacked.max(axis=0)
        case Reducer.MIN:
            return stacked.min(axis=0)


def reduce_batches(
    batches: Sequence[Mapping[str, Any]], reducers: Mapping[str, Reducer], weights: Sequence[float]
) -> dict[str, Any]:
    """Each metric over all batches of one rank. `weights`: the number of records of each batch.

    Raises ValueError unless all batches have the same names.
    """
    names = set(batches[0])
    for position, batch in enumerate(batches):
        if set(batch) != names:
            raise ValueError(
                f"validation metrics must have the same names in each batch; batch 0 has {sorted(names)}, "
                f"batch {position} has {sorted(batch)}"
            )
    return {name: reduce_values(reducers[name], [batch[name] for batch in batches], weights) for name in batches[0]}


def reduce_ranks(ranks: Sequence[tuple[Mapping[str, Any], float]], reducers: Mapping[str, Reducer]) -> dict[str, Any]:
    """Each metric over all ranks, weighted by their numbers of records. Ranks without records are left out."""
    present = [(metrics, weight) for metrics, weight in ranks if weight]
    if len(present) == 1:
        return dict(present[0][0])
    weights = [float(weight) for _, weight in present]
    return {
        name: reduce_values(reducers[name], [metrics[name] for metrics, _ in present], weights)
        for name in present[0][0]
    }


def averages(batches: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    """The weighted mean of each metric over the batches that have it."""
    names = dict.fromkeys(name for metrics, _ in batches for name in metrics)
    return {
        name: _average([(metrics[name], weight) for metrics, weight in batches if name in metrics]) for name in names
    }


def _average(weighted: Sequence[tuple[float, float]]) -> float:
    return float(np.average([value for value, _ in weighted], weights=[weight for _, weight in weighted]))

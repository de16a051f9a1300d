"""The lengths to train to: a single one that the script gives, or the targets that the search sets one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from determined import core
from determined._numbers import mean_of
from determined.pytorch._units import TrainUnit


@dataclass(frozen=True)
class Target:
    """A length to train to. `length` is a cumulative total. Progress is a fraction of `whole`, the largest length that
    the trial may be given. `reached`: called with the metric to report the length as reached, on the chief only; None
    when the search does not need it."""

    length: TrainUnit
    whole: TrainUnit
    reached: Callable[[float], None] | None = None


def own(length: TrainUnit) -> Iterator[Target]:
    """The whole length as a single target. The search reads the progress from the validations."""
    yield Target(length, length)


def of_search(
    searcher: core.SearcherContext, unit: Callable[[int], TrainUnit], whole: TrainUnit | None
) -> Iterator[Target]:
    """The targets of the search, equal on all ranks. `unit` converts a number of the search to a length."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # it is addressed to user programs
        operations = iter(searcher.operations())
        following = next(operations, None)
    while following is not None:
        length = unit(following.length)
        yield Target(length, whole or length, following.report_completed)
        following = next(operations, None)


def up_to(limit: TrainUnit | None, targets: Iterator[Target]) -> Iterator[Target]:
    """`targets` up to `limit`, in the same unit. A target beyond `limit` is cut to it, and not reported as reached."""
    for target in targets:
        if limit is not None and _number(target.length) > _number(limit):
            yield Target(limit, target.whole)
            return
        yield target


def _number(length: TrainUnit) -> int:
    assert isinstance(length.value, int), f"a length is a number, found {length}"
    return length.value


def worth(metrics: Mapping[str, Any], searcher: Mapping[str, Any]) -> float:
    """The searcher's metric in the metrics of a validation; for an array its mean.

    Raises InvalidExperimentException, naming the metric, where it is missing or not a number.
    """
    from determined.errors import InvalidExperimentException

    name = searcher.get("metric", "val_loss")
    if name not in metrics:
        raise InvalidExperimentException(
            f"searcher.metric is {name!r}, and validation gave only {', '.join(sorted(metrics)) or 'nothing'}"
        )
    number = mean_of(metrics[name])
    if number is None:
        raise InvalidExperimentException(f"searcher.metric is {name!r}, and validation gave {metrics[name]!r} for it")
    return number

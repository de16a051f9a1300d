"""Search methods: which trials to make, and when enough is known. All behind one interface, `SearchMethod`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import SearchBracket
from resolute.search.methods.custom import CustomSearch
from resolute.search.methods.grid import GridSearch
from resolute.search.methods.halving import HalvingSearch
from resolute.search.methods.method import (
    Answer,
    CreateTrial,
    Operation,
    SearchEvent,
    SearchMethod,
    Shutdown,
    StopTrial,
    TrainTo,
    Wait,
)
from resolute.search.methods.random import RandomSearch
from resolute.search.methods.single import SingleSearch
from resolute.search.settings import Settings

__all__ = [
    "METHODS",
    "Answer",
    "CreateTrial",
    "Operation",
    "SearchEvent",
    "SearchMethod",
    "Shutdown",
    "StopTrial",
    "TrainTo",
    "Wait",
    "method_for",
]

METHODS: Mapping[str, Callable[[Settings, int], SearchMethod]] = {
    "single": SingleSearch,
    "random": RandomSearch,
    "grid": GridSearch,
    "async_halving": HalvingSearch,
    "adaptive_asha": HalvingSearch,
    "custom": CustomSearch,
}


def method_for(settings: Settings, seed: int, brackets: Sequence[SearchBracket] | None = None) -> SearchMethod:
    """The method that `searcher.name` asks for, before its first trial; `brackets` are those that were recorded.

    Raises InvalidConfig for a method that is not offered.
    """
    name = settings.searcher.name
    if name not in METHODS:
        raise InvalidConfig(f"searcher.name: expected one of {', '.join(METHODS)}; found {name!r}.")
    return METHODS[name](settings, seed) if brackets is None else HalvingSearch(settings, seed, brackets)

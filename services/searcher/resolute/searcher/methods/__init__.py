"""Search methods: which trials to make, and when enough is known. All behind one interface, `SearchMethod`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from resolute.proto.errors import InvalidConfig
from resolute.searcher.methods.custom import CustomSearch
from resolute.searcher.methods.grid import GridSearch
from resolute.searcher.methods.halving import adaptive_asha, async_halving
from resolute.searcher.methods.method import (
    CreateTrial,
    Operation,
    SearchMethod,
    Shutdown,
    StopTrial,
    Told,
    TrainTo,
    Wait,
)
from resolute.searcher.methods.random import RandomSearch
from resolute.searcher.methods.single import SingleSearch
from resolute.searcher.settings import Settings

__all__ = [
    "METHODS",
    "CreateTrial",
    "Operation",
    "SearchMethod",
    "Shutdown",
    "StopTrial",
    "Told",
    "TrainTo",
    "Wait",
    "method_for",
]

METHODS: Mapping[str, Callable[[Settings, int], SearchMethod]] = {
    "single": SingleSearch,
    "random": RandomSearch,
    "grid": GridSearch,
    "async_halving": async_halving,
    "adaptive_asha": adaptive_asha,
    "custom": CustomSearch,
}


def method_for(settings: Settings, seed: int) -> SearchMethod:
    """The method that `searcher.name` asks for, before its first trial. Raises InvalidConfig for one not offered."""
    name = settings.searcher.name
    if name not in METHODS:
        raise InvalidConfig(f"searcher.name: expected one of {', '.join(METHODS)}; found {name!r}.")
    return METHODS[name](settings, seed)

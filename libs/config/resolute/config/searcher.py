"""How trials are made and stopped: the fields of `searcher`, what each method requires, and their typed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .hyperparameters import Double, Int, Log, Space, axes
from .lengths import Length, LengthNode
from .nodes import Bool, Field, ListOf, Number, Object, Status, Text
from .nodes import Int as IntNode
from .problems import Problems

METHODS = ("single", "random", "grid", "async_halving", "adaptive_asha")
_HALVING = frozenset({"async_halving", "adaptive_asha"})
_SAMPLED = _HALVING | {"random"}
_PARALLEL = _SAMPLED | {"grid"}

_GONE = "Use adaptive_asha, which stops trials early, or random."
_REMOVED = {
    "adaptive": _GONE,
    "adaptive_simple": _GONE,
    "sync_halving": _GONE,
    "pbt": _GONE,
    "custom": "Drive single-trial experiments from your own code instead, or use adaptive_asha.",
    "asha": "Write async_halving for one bracket, or adaptive_asha for several.",
}
_LENGTH = "Write searcher.max_length with one of batches, records, epochs."

SEARCHER = Object(
    {
        "name": Field(Text(METHODS, remedies=_REMOVED)),
        "metric": Field(Text()),
        "smaller_is_better": Field(Bool(), True),
        "max_length": Field(LengthNode(least=1, bare_int=True)),
        "max_trials": Field(IntNode(1), kinds=_SAMPLED),
        "max_concurrent_trials": Field(IntNode(0), 16, kinds=_PARALLEL),
        "time_metric": Field(Text(), kinds=_HALVING),
        "max_time": Field(IntNode(1), kinds=_HALVING),
        "num_rungs": Field(IntNode(1), kinds=frozenset({"async_halving"})),
        "divisor": Field(Number(above=1), 4, kinds=_HALVING),
        "mode": Field(Text(("aggressive", "standard", "conservative")), "standard", kinds=frozenset({"adaptive_asha"})),
        "max_rungs": Field(IntNode(1), 5, kinds=frozenset({"adaptive_asha"})),
        "bracket_rungs": Field(ListOf(IntNode(1)), [], kinds=frozenset({"adaptive_asha"})),
        "stop_once": Field(Bool(), status=Status.IGNORED, kinds=_HALVING),
        "source_trial_id": Field(IntNode(1)),
        "source_checkpoint_uuid": Field(Text()),
    },
    kind_key="name",
    remedies={
        "step_budget": _LENGTH,
        "target_trial_steps": _LENGTH,
        "max_steps": _LENGTH,
        "budget": _LENGTH,
        "unit": "Remove it.",
        "train_stragglers": "Remove it.",
    },
)


@dataclass(frozen=True, slots=True)
class SearcherConfig:
    """What a search method needs to know. Fields of other methods hold their defaults."""

    name: str
    metric: str
    smaller_is_better: bool = True
    max_length: Length | None = None
    max_trials: int = 1
    max_concurrent_trials: int = 16
    divisor: float = 4
    mode: str = "standard"
    max_rungs: int = 5
    bracket_rungs: tuple[int, ...] = ()
    num_rungs: int | None = None
    time_metric: str | None = None
    max_time: int | None = None
    source_trial_id: int | None = None
    source_checkpoint_uuid: str | None = None

    @classmethod
    def of(cls, merged: Mapping[str, Any]) -> SearcherConfig:
        """From the `searcher` part of a merged configuration."""
        given = {k: v for k, v in merged.items() if k in cls.__dataclass_fields__ and v is not None}
        if "max_length" in given:
            given["max_length"] = Length.of(given["max_length"])
        given["bracket_rungs"] = tuple(given.get("bracket_rungs", ()))
        return cls(**given)


def check_searcher(searcher: Mapping[str, Any], space: Space, problems: Problems) -> None:
    """What no single field can tell: required fields of the method, and fields that exclude each other."""
    name = searcher.get("name")
    if name is None:
        problems.add("searcher.name", f"missing. Write one of {', '.join(METHODS)}.")
    if not searcher.get("metric"):
        problems.add("searcher.metric", "missing. Name the validation metric that ranks trials, as validation_loss.")
    if name in _SAMPLED and searcher.get("max_trials") is None:
        problems.add("searcher.max_trials", f"missing. Say how many trials {name} may make.")
    if name == "async_halving" and searcher.get("num_rungs") is None:
        problems.add("searcher.num_rungs", "missing. Say in how many rounds async_halving thins trials out.")
    if name in _HALVING:
        _check_halving_length(searcher, problems)
    if name == "grid":
        _check_grid(space, problems)
    if searcher.get("source_trial_id") is not None and searcher.get("source_checkpoint_uuid") is not None:
        problems.add("searcher", "expected at most one of source_trial_id and source_checkpoint_uuid; found both.")


def _check_halving_length(searcher: Mapping[str, Any], problems: Problems) -> None:
    timed = [key for key in ("time_metric", "max_time") if searcher.get(key) is not None]
    if len(timed) == 1:
        missing = "max_time" if timed == ["time_metric"] else "time_metric"
        problems.add(f"searcher.{missing}", f"missing. It goes together with searcher.{timed[0]}.")
    elif not timed and searcher.get("max_length") is None:
        text = f"missing. {searcher['name']} needs max_length, or time_metric and max_time, to place its rungs."
        problems.add("searcher.max_length", text)
    elif timed and searcher.get("max_length") is not None:
        problems.add("searcher", "expected max_length or time_metric with max_time; found both. Remove one.")


def _check_grid(space: Space, problems: Problems) -> None:
    for path, axis in axes(space):
        if isinstance(axis, Int | Double | Log) and axis.count is None:
            problems.add(f"hyperparameters.{path}.count", "missing. A grid needs it: how many points on this axis.")

"""How trials are made and stopped: the fields of `searcher`, what each method requires, and their typed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import bounds
from .hyperparameters import Const, Double, Int, Log, Space, axes, count_grid, largest_point_bytes
from .lengths import UNITS, Length, LengthNode
from .nodes import Bool, Field, ListOf, Number, Object, Text
from .nodes import Int as IntNode
from .problems import Problems
from .rungs import most_apart, most_rungs

METHODS = ("single", "random", "grid", "async_halving", "adaptive_asha", "custom")
ALIASES: Mapping[str, str] = {"asha": "async_halving"}
HALVING = frozenset({"async_halving", "adaptive_asha"})
"""Methods that compare trials while they train."""
_SAMPLED = HALVING | {"random"}
_PARALLEL = _SAMPLED | {"grid"}
_PLANNED = _PARALLEL | {"single"}

MOST_TRIALS = 100_000
"""Each is a handful of events, and all of an experiment's are one stream."""

OPEN_TRIALS_MAX = 1_000
"""Trials of a random or grid search that are open at once, whatever `max_concurrent_trials` says, and with which a
halving search begins: creating, pausing, activating and killing a search takes as long as it has open trials."""

MOST_RUNGS = 100
"""Doubling from 1 comes to the longest length there is in 53."""

DEFAULT_METRIC = "val_loss"
"""Of a search with max_length that names none, as configurations written for Keras do."""

_GONE = "Use adaptive_asha, which stops trials early, or random."
_REMOVED = {"adaptive": _GONE, "adaptive_simple": _GONE, "sync_halving": _GONE, "pbt": _GONE}
_LENGTH = "Write searcher.max_length with one of batches, records, epochs."


class _Searcher(Object):
    """The methods go by one name each; what else they are called is understood."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        name = value.get("name") if isinstance(value, Mapping) else None
        if isinstance(name, str) and name in ALIASES:
            value = {**value, "name": ALIASES[name]}
        return super().read(value, path, problems)


SEARCHER = _Searcher(
    {
        "name": Field(Text(METHODS, remedies=_REMOVED)),
        "metric": Field(Text()),
        "smaller_is_better": Field(Bool(), True),
        "max_length": Field(LengthNode(least=1, bare_int=True), kinds=_PLANNED),
        "max_trials": Field(IntNode(1, MOST_TRIALS), kinds=_SAMPLED),
        "max_concurrent_trials": Field(IntNode(0), 16, kinds=_PARALLEL),
        "time_metric": Field(Text(), kinds=HALVING),
        "max_time": Field(IntNode(1), kinds=HALVING),
        "num_rungs": Field(IntNode(1, MOST_RUNGS), kinds=frozenset({"async_halving"})),
        "divisor": Field(Number(above=1), 4, kinds=HALVING),
        "mode": Field(Text(("aggressive", "standard", "conservative")), "standard", kinds=frozenset({"adaptive_asha"})),
        "max_rungs": Field(IntNode(1, MOST_RUNGS), 5, kinds=frozenset({"adaptive_asha"})),
        "bracket_rungs": Field(ListOf(IntNode(1, MOST_RUNGS)), [], kinds=frozenset({"adaptive_asha"})),
        "stop_once": Field(Bool(), kinds=HALVING),
        "unit": Field(Text(UNITS), "batches", kinds=frozenset({"custom"})),
        "source_trial_id": Field(IntNode(1)),
        "source_checkpoint_uuid": Field(Text()),
    },
    kind_key="name",
    remedies={
        "step_budget": _LENGTH,
        "target_trial_steps": _LENGTH,
        "max_steps": _LENGTH,
        "budget": _LENGTH,
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
    stop_once: bool = False
    time_metric: str | None = None
    max_time: int | None = None
    unit: str = "batches"
    """Of a custom search's lengths; any other's is that of its max_length."""
    source_trial_id: int | None = None
    source_checkpoint_uuid: str | None = None

    @classmethod
    def of(cls, merged: Mapping[str, Any]) -> SearcherConfig:
        """From the `searcher` part of a merged configuration."""
        given = {k: v for k, v in merged.items() if k in cls.__dataclass_fields__ and v is not None}
        if "max_length" in given:
            given["max_length"] = Length.of(given["max_length"])
            given["unit"] = given["max_length"].unit
        given["bracket_rungs"] = tuple(given.get("bracket_rungs", ()))
        if given.get("name") == "custom":  # as many as its client asks for
            given["max_concurrent_trials"] = 0
        return cls(**given)

    @property
    def at_once(self) -> int:
        """How many trials are open at once: `max_concurrent_trials`, where 0 sets no limit, within the bound."""
        return min(self.max_concurrent_trials or OPEN_TRIALS_MAX, OPEN_TRIALS_MAX)

    @property
    def longest(self) -> int | None:
        """Where the top rung is: max_length in its own unit, or max_time."""
        return self.max_length.value if self.max_length else self.max_time


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
    if name in HALVING:
        _check_halving(searcher, problems)
    if (searcher.get("max_concurrent_trials") or 0) > OPEN_TRIALS_MAX:
        text = f"works as {OPEN_TRIALS_MAX:,}: at most so many trials of a search are open at once; others follow"
        problems.warn("searcher.max_concurrent_trials", text)
    if name == "grid":
        _check_grid(space, problems)
    _check_size(searcher, space, problems)
    if searcher.get("source_trial_id") is not None and searcher.get("source_checkpoint_uuid") is not None:
        problems.add("searcher", "expected at most one of source_trial_id and source_checkpoint_uuid; found both.")


def _check_halving(searcher: Mapping[str, Any], problems: Problems) -> None:
    _check_halving_length(searcher, problems)
    if searcher.get("time_metric") is not None and searcher.get("stop_once") is False:
        problems.warn("searcher.stop_once", "is ignored: a search by time_metric never has a trial wait, it stops it")
    if problems.none_at("searcher"):
        _check_rungs(SearcherConfig.of(searcher), problems)


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


def _check_rungs(searcher: SearcherConfig, problems: Problems) -> None:
    """That every rung asked for by number has a length of its own."""
    longest, divisor = searcher.longest, searcher.divisor
    assert longest is not None, "checked before"
    asked = {f"searcher.bracket_rungs[{i}]": rungs for i, rungs in enumerate(searcher.bracket_rungs)}
    if searcher.num_rungs is not None:
        asked["searcher.num_rungs"] = searcher.num_rungs
    field = "max_length" if searcher.max_length else "max_time"
    for path, rungs in asked.items():
        fit = most_rungs(longest, divisor, rungs)
        if (most := most_apart(longest, divisor, fit)) < rungs:
            wanted = f"at most {most}, as many as fit searcher.{field} ({longest}) with searcher.divisor ({divisor:g})"
            problems.expected(path, wanted, rungs, hint=f"Lower it, or raise searcher.{field}.")
    if len(searcher.bracket_rungs) > searcher.max_trials:
        wanted = f"at most as many brackets as searcher.max_trials ({searcher.max_trials})"
        problems.expected("searcher.bracket_rungs", wanted, len(searcher.bracket_rungs))


def _check_grid(space: Space, problems: Problems) -> None:
    before = len(problems.lines)
    for path, axis in axes(space):
        if isinstance(axis, Int | Double | Log) and axis.count is None:
            problems.add(f"hyperparameters.{path}.count", "missing. A grid needs it: how many points on this axis.")
    if len(problems.lines) == before and (size := count_grid(space)) > MOST_TRIALS:
        sizes = [f"{path} {axis.count_points()}" for path, axis in axes(space) if not isinstance(axis, Const)]
        counted = f"{size:,}" if size < 10**15 else "more than 10^15"
        found = f"a grid of {counted} ({_listed(sizes)})"
        text = f"expected a grid of at most {MOST_TRIALS:,} trials; found {found}. Lower a count, or use random."
        problems.add("hyperparameters", text)


def _check_size(searcher: Mapping[str, Any], space: Space, problems: Problems) -> None:
    """That the hyperparameters of all trials together are of a size that the log can hold."""
    if problems.lines:
        return
    trials = count_grid(space) if searcher["name"] == "grid" else searcher.get("max_trials") or 1
    each = largest_point_bytes(space)
    if trials * each > bounds.SEARCH_BYTES_MAX:
        text = f"{trials:,} trials with up to {each:,} bytes of hyperparameters each take {trials * each:,} bytes"
        problems.add("hyperparameters", f"{text}, and {bounds.SEARCH_BYTES_MAX:,} is the limit. Use fewer trials.")


def _listed(sizes: list[str], shown: int = 8) -> str:
    """The sizes of the axes of a grid, the first few of many."""
    more = f" x {len(sizes) - shown} more" if len(sizes) > shown else ""
    return " x ".join(sizes[:shown]) + more

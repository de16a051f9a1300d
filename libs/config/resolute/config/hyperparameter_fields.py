"""How hyperparameters are written: a plain value, a range with a type, or a group of more of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import bounds, nodes
from .json_values import json_value, text
from .nodes import Field, Leaf
from .problems import Problems, join, nearest

_WHOLE = nodes.Int(most=nodes.MOST_EXACT)
_COUNT = Field(nodes.Int(1))
_RANGES: Mapping[str, Mapping[str, Field]] = {
    "const": {"val": Field(nodes.Anything())},
    "int": {"minval": Field(_WHOLE), "maxval": Field(_WHOLE), "count": _COUNT},
    "double": {"minval": Field(nodes.Number()), "maxval": Field(nodes.Number()), "count": _COUNT},
    "log": {
        "base": Field(nodes.Number(above=0)),
        "minval": Field(nodes.Number()),
        "maxval": Field(nodes.Number()),
        "count": _COUNT,
    },
    "categorical": {"vals": Field(nodes.ListOf(nodes.Anything(), bounds.VALUES_MAX))},
}
_OPTIONAL = frozenset({"count", "val"})  # a const without a value is the constant null


class HyperparametersNode(Leaf):
    """The whole map. Canonical form: every leaf an object with a `type`, constants included."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            problems.expected(path, "an object", value, hint="Write names and their values or ranges.")
            return {}
        count, longest = _counted(value)
        if count > bounds.HYPERPARAMETERS_MAX:
            most = f"{bounds.HYPERPARAMETERS_MAX:,}"
            problems.add(path, f"expected at most {most} hyperparameters; found {count:,}. Group constants into one.")
            return {}
        if longest > bounds.NAME_CHARACTERS_MAX:
            most = f"{bounds.NAME_CHARACTERS_MAX:,}"
            problems.add(path, f"expected names of at most {most} characters; found one of {longest:,}.")
            return {}
        return _read_group(value, path, problems)


def _counted(group: Mapping[str, Any]) -> tuple[int, int]:
    """How many hyperparameters `group` holds, in groups of its own too, and how long the longest name is."""
    count, longest, waiting = 0, 0, [group]
    while waiting:
        for name, inner in waiting.pop().items():
            count, longest = count + 1, max(longest, len(str(name)))
            if isinstance(inner, Mapping) and "type" not in inner:
                waiting.append(inner)
    return count, longest


def _read_group(raw: Mapping[str, Any], path: str, problems: Problems) -> dict[str, Any]:
    items = ((text(str(name), path, problems), inner) for name, inner in raw.items())
    return {name: _read_one(inner, join(path, name), problems) for name, inner in items}


def _read_one(raw: Any, path: str, problems: Problems) -> Any:
    if not isinstance(raw, Mapping):
        return {"type": "const", "val": json_value(raw, path, problems)}
    if "type" not in raw:
        _warn_of_forgotten_type(raw, path, problems)
        return _read_group(raw, path, problems)
    return _read_range(raw, path, problems)


def _read_range(raw: Mapping[str, Any], path: str, problems: Problems) -> dict[str, Any]:
    kind = raw["type"]
    if not isinstance(kind, str) or kind not in _RANGES:
        close = nearest(str(kind), _RANGES)
        hint = f"Did you mean {close!r}?" if close else ""
        problems.expected(join(path, "type"), f"one of {', '.join(_RANGES)}", kind, hint=hint)
        return {"type": "const", "val": None}
    before = len(problems.lines)
    fields = {"type": Field(nodes.Text()), **_RANGES[kind]}
    read: dict[str, Any] = nodes.Object(fields).read(raw, path, problems)
    _check_complete(kind, raw, path, problems)
    if len(problems.lines) == before:
        _CHECKS.get(kind, _check_order)(read, path, problems)
    if kind == "const":
        read.setdefault("val", None)
    elif kind != "categorical":
        read.setdefault("count", None)
    return read if len(problems.lines) == before else {"type": "const", "val": None}


def _check_complete(kind: str, raw: Mapping[str, Any], path: str, problems: Problems) -> None:
    for name in _RANGES[kind]:
        if name not in _OPTIONAL and raw.get(name) is None:
            problems.add(join(path, name), f"missing. A range of type {kind} needs it.")


def _check_order(read: Mapping[str, Any], path: str, problems: Problems) -> None:
    low, high = read["minval"], read["maxval"]
    if low >= high:
        text = f"expected minval below maxval; found minval {low} and maxval {high}. {_turned(low, high)}"
        problems.add(path, text)


def _check_exponents(read: Mapping[str, Any], path: str, problems: Problems) -> None:
    _check_order(read, path, problems)
    for bound in ("minval", "maxval"):
        try:
            float(read["base"] ** read[bound])
        except OverflowError:
            hint = f"The value is {read['base']:g} to this power."
            problems.expected(join(path, bound), "an exponent a number can hold", read[bound], hint=hint)


def _turned(low: float, high: float) -> str:
    return "Swap them." if low > high else "For one value write it plainly, as a constant."


def _check_choices(read: Mapping[str, Any], path: str, problems: Problems) -> None:
    if not read["vals"]:
        problems.expected(join(path, "vals"), "at least one choice", read["vals"])


def _check_nothing(read: Mapping[str, Any], path: str, problems: Problems) -> None:
    pass


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], str, Problems], None]] = {
    "categorical": _check_choices,
    "const": _check_nothing,
    "log": _check_exponents,
}


def _warn_of_forgotten_type(raw: Mapping[str, Any], path: str, problems: Problems) -> None:
    if {"minval", "maxval"} <= set(raw) or "vals" in raw:
        text = "is read as a group of constants; a range needs a type: int, double, log or categorical"
        problems.warn(path, text)

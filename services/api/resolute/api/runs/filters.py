"""Filters of runs and searches: what clients send as JSON becomes a small tree of conditions, and orders likewise.

A filter is `{"showArchived": false, "filterGroup": GROUP}`. A group has a conjunction (`and`, `or`) and children, which
are groups or fields; a field compares one column with one value. This module knows no SQL and reads no rows:
`column_queries.py` says which columns there are, `filter_queries.py` makes SQL of the tree, and `matching.py` makes a
predicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, TypeAlias

import orjson

from resolute.api.kernel import values
from resolute.api.shown_states import Phase
from resolute.proto.errors import InvalidConfig
from resolute.proto.states import ExperimentState


class Kind(Enum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    BOOLEAN = "boolean"


class Operator(StrEnum):
    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    LACKS = "notContains"
    EMPTY = "isEmpty"
    NOT_EMPTY = "notEmpty"


EMPTINESS = frozenset({Operator.EMPTY, Operator.NOT_EMPTY})
SAMENESS = frozenset({Operator.EQUAL, Operator.UNEQUAL})
ORDERED = frozenset({Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST})
PARTS = frozenset({Operator.CONTAINS, Operator.LACKS})

OPERATORS: Mapping[Kind, frozenset[Operator]] = {
    Kind.TEXT: SAMENESS | PARTS | EMPTINESS,
    Kind.NUMBER: SAMENESS | ORDERED | EMPTINESS,
    Kind.DATE: SAMENESS | ORDERED | EMPTINESS,
    Kind.BOOLEAN: SAMENESS | EMPTINESS,
}
"""Those that columns of a kind can be compared by."""


class Statistic(StrEnum):
    LAST = "last"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A column that every run or search has."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Metric:
    """What the reports of one metric come to: `validation.loss.min`. Only the last value may be text."""

    group: str
    name: str
    statistic: Statistic
    kind: Kind


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """`hp.optimizer.lr` is the path `optimizer`, `lr`."""

    path: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Metadata:
    """A value that the code of a run keeps with it; the path as of a hyperparameter."""

    path: tuple[str, ...]
    kind: Kind


Column: TypeAlias = Fixed | Metric | Hyperparameter | Metadata
Value: TypeAlias = str | float | bool | datetime


@dataclass(frozen=True, slots=True)
class Condition:
    """Nothing is compared with a column that has no value: only `isEmpty` holds for it."""

    column: Column
    operator: Operator
    value: Value | None
    """None for those that ask whether there is a value."""


@dataclass(frozen=True, slots=True)
class Group:
    """All of its parts, or any. A group without parts holds always, whatever its conjunction."""

    every: bool
    parts: tuple[Filter, ...]


Filter: TypeAlias = Condition | Group

ALWAYS = Group(every=True, parts=())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for."""

    filter: Filter = ALWAYS
    archived_too: bool = True


EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Order:
    column: Column
    descending: bool


Columns: TypeAlias = Mapping[str, Fixed]
"""The fixed columns by name."""

DEPTH_MAX = 20
CONDITIONS_MAX = 200
METRICS_MAX = 20
"""Different metrics in one filter and order: each is a join."""
ORDERS_MAX = 10

KINDS = {
    "COLUMN_TYPE_UNSPECIFIED": None,
    "COLUMN_TYPE_TEXT": Kind.TEXT,
    "COLUMN_TYPE_NUMBER": Kind.NUMBER,
    "COLUMN_TYPE_DATE": Kind.DATE,
    "COLUMN_TYPE_ARRAY": Kind.TEXT,
}

LOCATIONS = {
    f"LOCATION_TYPE_{name}"
    for name in (
        *("UNSPECIFIED", "EXPERIMENT", "HYPERPARAMETERS", "VALIDATIONS", "TRAINING", "CUSTOM_METRIC"),
        *("RUN", "RUN_HYPERPARAMETERS", "RUN_METADATA"),
    )
}

# ---------------------------------------------------------------- filters


def parse_filter(text: str | None, columns: Columns) -> Wanted:
    """What a client's filter asks for; no filter at all asks for everything, what is archived too.

    Raises InvalidConfig, which names the field.
    """
    if not text:
        return Wanted()
    found = _object(_json(text), "filter")
    _only(found, "filter", "filterGroup", "showArchived")
    archived = found.get("showArchived")
    if archived not in (None, True, False):
        raise _wrong("filter.showArchived", "true or false", archived)
    group = found.get("filterGroup")
    parsed = ALWAYS if group is None else _part(group, "filter.filterGroup", columns, 1)
    if isinstance(parsed, Condition):
        raise _wrong("filter.filterGroup.kind", "group", "field")
    conditions = list(conditions_of(parsed))
    if len(conditions) > CONDITIONS_MAX:
        raise InvalidConfig(f"filter: expected at most {CONDITIONS_MAX} fields; found {len(conditions)}")
    return Wanted(parsed, archived_too=bool(archived))


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidConfig(f"filter: expected JSON text; {error}") from None


def _part(found: Any, path: str, columns: Columns, depth: int) -> Filter:
    part = _object(found, path)
    if depth > DEPTH_MAX:
        raise InvalidConfig(f"{path}: expected groups of at most {DEPTH_MAX} levels")
    kind = part.get("kind")
    if kind == "group":
        return _group(part, path, columns, depth)
    if kind == "field":
        return _field(part, path, columns)
    raise _wrong(f"{path}.kind", "group or field", kind)


def _group(part: Mapping[str, Any], path: str, columns: Columns, depth: int) -> Group:
    _only(part, path, "kind", "conjunction", "children", "id")
    children, conjunction = part.get("children") or [], part.get("conjunction")
    if not isinstance(children, list):
        raise _wrong(f"{path}.children", "a list", children)
    if conjunction not in ("and", "or"):
        raise _wrong(f"{path}.conjunction", "and or or", conjunction)
    parts = (_part(child, f"{path}.children[{at}]", columns, depth + 1) for at, child in enumerate(children))
    return Group(every=conjunction == "and", parts=tuple(parts))


def _field(part: Mapping[str, Any], path: str, columns: Columns) -> Filter:
    _only(part, path, "kind", "columnName", "location", "type", "operator", "value", "id")
    column = _column_of(part, path, columns)
    operator = _operator(part.get("operator"), path, column)
    value = part.get("value")
    if operator in EMPTINESS:
        return Condition(column, operator, None)
    if value is None:  # a field that is not filled in yet
        return ALWAYS
    return Condition(column, operator, _value(value, f"{path}.value", column))


def _column_of(part: Mapping[str, Any], path: str, columns: Columns) -> Column:
    location, type_ = part.get("location") or "LOCATION_TYPE_EXPERIMENT", part.get("type") or "COLUMN_TYPE_UNSPECIFIED"
    if not isinstance(location, str) or location not in LOCATIONS:
        raise _wrong(f"{path}.location", f"one of {', '.join(sorted(LOCATIONS))}", location)
    if not isinstance(type_, str) or type_ not in KINDS:
        raise _wrong(f"{path}.type", f"one of {', '.join(sorted(KINDS))}", type_)
    name = part.get("columnName")
    if not isinstance(name, str):
        raise _wrong(f"{path}.columnName", "the name of a column", name)
    column = column_named(name, columns, KINDS[type_] or _kind_by_value(part.get("value")))
    if column is None:
        raise InvalidConfig(f"{path}.columnName: invalid run column {name!r}; use {_names(columns)}")
    return column


def _kind_by_value(value: Any) -> Kind:
    """Of a column whose type the client does not say."""
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.NUMBER if isinstance(value, int | float) else Kind.TEXT


def _operator(found: Any, path: str, column: Column) -> Operator:
    if not isinstance(found, str) or found not in set(Operator):
        raise _wrong(f"{path}.operator", f"one of {' '.join(Operator)}", found)
    operator = Operator(found)
    if operator not in OPERATORS[column.kind]:
        fitting = " ".join(one for one in Operator if one in OPERATORS[column.kind])
        raise _wrong(f"{path}.operator", f"for a {column.kind.value} one of {fitting}", found)
    return operator


def _value(found: Any, path: str, column: Column) -> Value:
    value = READERS[column.kind](found, path)
    if isinstance(column, Fixed) and column.name == "state" and isinstance(value, str):
        state = value.removeprefix("STATE_")
        return str(ExperimentState.ACTIVE) if state in tuple(Phase) else state
    return value


def _text(found: Any, path: str) -> str:
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str | int | float):
        text = str(found)
        if "\0" in text:
            raise InvalidConfig(f"{path}: expected text without the character NUL")
        return text
    raise _wrong(path, "text", found)


def _number(found: Any, path: str) -> float:
    if not isinstance(found, bool) and isinstance(found, int | float | str):
        try:
            number = float(found)
        except (ValueError, OverflowError):
            raise _wrong(path, "a number", found) from None
        if math.isfinite(number):
            return number
    raise _wrong(path, "a number", found)


def _date(found: Any, path: str) -> datetime:
    try:
        date = values.instant(found) if isinstance(found, str) else None
    except values.Unfit as unfit:
        raise InvalidConfig(f"{path}: {unfit}") from None
    if date is None:
        raise _wrong(path, "an RFC 3339 instant, such as 2026-01-31T12:00:00Z", found)
    return date


def _boolean(found: Any, path: str) -> bool:
    if found in (True, "true"):
        return True
    if found in (False, "false"):
        return False
    raise _wrong(path, "true or false", found)


READERS: Mapping[Kind, Callable[[Any, str], Value]] = {
    Kind.TEXT: _text,
    Kind.NUMBER: _number,
    Kind.DATE: _date,
    Kind.BOOLEAN: _boolean,
}

# ---------------------------------------------------------------- columns


def column_named(name: str, columns: Columns, kind: Kind = Kind.NUMBER) -> Column | None:
    """The column of this name; None where there is none. `kind`: of columns that are not fixed."""
    if name in columns:
        return columns[name]
    first, _, rest = name.partition(".")
    if first in ("hp", "metadata") and rest:
        path = tuple(rest.split("."))
        return Hyperparameter(path, kind) if first == "hp" else Metadata(path, kind)
    middle, _, statistic = rest.rpartition(".")
    if not middle or not first or statistic not in set(Statistic) or "\0" in name:
        return None
    if kind is not Kind.NUMBER and statistic != Statistic.LAST:
        kind = Kind.NUMBER
    return Metric(first, middle, Statistic(statistic), Kind.NUMBER if kind is Kind.NUMBER else Kind.TEXT)


def conditions_of(part: Filter) -> Sequence[Condition]:
    if isinstance(part, Condition):
        return [part]
    return [condition for each in part.parts for condition in conditions_of(each)]


def check_metrics(wanted: Filter, orders: Sequence[Order]) -> None:
    """Raises InvalidConfig where a request names more metrics than one statement can join."""
    named = [*(one.column for one in conditions_of(wanted)), *(one.column for one in orders)]
    metrics = {(one.group, one.name) for one in named if isinstance(one, Metric)}
    if len(metrics) > METRICS_MAX:
        raise InvalidConfig(f"filter, sort: expected at most {METRICS_MAX} metrics; found {len(metrics)}")


# ---------------------------------------------------------------- orders


def parse_sort(text: str | None, columns: Columns, unsortable: frozenset[str]) -> tuple[Order, ...]:
    """`name=asc,id=desc`. Raises InvalidConfig."""
    if not text:
        return ()
    orders = tuple(_order(one, columns, unsortable) for one in text.split(","))
    if len(orders) > ORDERS_MAX:
        raise InvalidConfig(f"sort: expected at most {ORDERS_MAX} columns; found {len(orders)}")
    return orders


def _order(text: str, columns: Columns, unsortable: frozenset[str]) -> Order:
    name, equals, direction = text.rpartition("=")
    if not equals or not name:
        raise InvalidConfig(f"sort: invalid sort parameter: {text}; use a column and a direction, such as id=desc")
    if direction not in ("asc", "desc"):
        raise InvalidConfig(f"sort: invalid sort direction: {direction}; use asc or desc")
    column = None if name in unsortable else column_named(name, columns)
    if column is None:
        raise InvalidConfig(f"sort: invalid sort col: {name}; use {_names(columns, without=unsortable)}")
    return Order(column, descending=direction == "desc")


# ---------------------------------------------------------------- errors


def _names(columns: Columns, without: frozenset[str] = frozenset()) -> str:
    fixed = ", ".join(sorted(set(columns) - without))
    return f"one of {fixed}, hp.NAME, metadata.KEY, or GROUP.METRIC.last (or min, max, mean)"


def _object(found: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise _wrong(path, "an object", found)
    return found


def _only(found: Mapping[str, Any], path: str, *known: str) -> None:
    for name in found:
        if name not in known:
            raise InvalidConfig(f"{path}.{name[:60]}: is unknown; known are {', '.join(known)}")


def _wrong(path: str, expected: str, found: Any) -> InvalidConfig:
    try:
        shown = orjson.dumps(found).decode()
    except TypeError:  # nested deeper than orjson writes
        shown = f"a {type(found).__name__} that is nested too deep"
    return InvalidConfig(f"{path}: expected {expected}; found {shown[:60]}")

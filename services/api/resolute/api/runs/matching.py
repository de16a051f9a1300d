"""Filters and orders over rows in memory: the same as `filter_queries.py` makes of them for Postgres."""

from __future__ import annotations

import operator as compare
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from resolute.api.runs.filters import (
    EMPTINESS,
    Column,
    Condition,
    Filter,
    Fixed,
    Hyperparameter,
    Kind,
    Metadata,
    Metric,
    Operator,
    Order,
    Value,
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the reports of one metric of one trial come to."""

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    last: float | None = None
    last_text: str | None = None


NO_REPORTS = Summary()


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a filter can ask of one run or search."""

    id: int
    fixed: Mapping[str, Value | int | None]
    orders: Mapping[str, Value | int | None]
    """What sorts, where that is not the value."""
    metrics: Mapping[tuple[str, str], Summary]
    hyperparameters: Any
    is_search: bool
    """Whether the hyperparameters are those of a configuration."""
    metadata: Any = None


COMPARISONS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: compare.eq,
    Operator.UNEQUAL: compare.ne,
    Operator.LESS: compare.lt,
    Operator.AT_MOST: compare.le,
    Operator.MORE: compare.gt,
    Operator.AT_LEAST: compare.ge,
}

NEGATIVE = {Operator.UNEQUAL: Operator.EQUAL, Operator.LACKS: Operator.CONTAINS}

ABSENT: Any = object()
"""In the place of a value of a document that is not there."""


def matches(part: Filter, row: Facts) -> bool:
    if isinstance(part, Condition):
        return _holds(part, row)
    if not part.parts:
        return True
    return (all if part.every else any)(matches(one, row) for one in part.parts)


def _holds(one: Condition, row: Facts) -> bool:
    match one.column:
        case Fixed(name=name):
            return _compared(row.fixed[name], one)
        case Metric():
            return _metric_holds(row, one.column, one)
        case Hyperparameter(path=path):
            document = at(row.hyperparameters, path)
            return _choices_hold(document, one) if row.is_search else _document_holds(document, one)
        case Metadata(path=path):
            return _document_holds(at(row.metadata, path), one)


def _metric_holds(row: Facts, column: Metric, one: Condition) -> bool:
    found = row.metrics.get((column.group, column.name), NO_REPORTS)
    number: float | None = getattr(found, column.statistic)
    if one.operator in EMPTINESS:
        words = found.last_text if column.statistic == "last" else None
        return (number is None and not words) == (one.operator is Operator.EMPTY)
    return _compared(number if column.kind is Kind.NUMBER else found.last_text, one, any_case=False)


def _compared(value: Any, one: Condition, *, any_case: bool = True) -> bool:
    if one.operator in EMPTINESS:
        return (value is None or value == "") == (one.operator is Operator.EMPTY)
    if value is None:
        return False
    if one.operator in COMPARISONS:
        return COMPARISONS[one.operator](value, one.value)
    part, whole = str(one.value), str(value)
    held = part.lower() in whole.lower() if any_case else part in whole
    return held == (one.operator is Operator.CONTAINS)


# ---------------------------------------------------------------- documents


def at(document: Any, path: Sequence[str]) -> Any:
    """The value at a path; ABSENT where there is none."""
    for key in path:
        if isinstance(document, Mapping) and key in document:
            document = document[key]
        elif isinstance(document, list) and _is_place(key, document):
            document = document[int(key)]
        else:
            return ABSENT
    return document


def _is_place(key: str, elements: Sequence[Any]) -> bool:
    return re.fullmatch(r"[+-]?\d{1,9}", key) is not None and -len(elements) <= int(key) < len(elements)


def _document_holds(document: Any, one: Condition) -> bool:
    if one.operator in EMPTINESS:
        empty = document is ABSENT or document is None or document in ("", [])
        return empty == (one.operator is Operator.EMPTY)
    value = READ[one.column.kind](document)
    if one.operator in NEGATIVE:
        return document is not ABSENT and (value is None or _compared(value, one))
    return _compared(value, one)


def _choices_hold(document: Any, one: Condition) -> bool:
    if one.operator in EMPTINESS:
        return _document_holds(document, one)
    choices, is_range = _choices(document)
    positive = NEGATIVE.get(one.operator, one.operator)
    if positive is one.operator or is_range:
        return any(_document_holds(each, one) for each in choices)
    asked = Condition(one.column, positive, one.value)
    return document is not ABSENT and not any(_document_holds(each, asked) for each in choices)


def _choices(document: Any) -> tuple[Sequence[Any], bool]:
    """What a hyperparameter of a configuration may become; and whether these are the ends of a range."""
    if document is ABSENT:
        return (), False
    if not isinstance(document, Mapping):
        return (document,), False
    match document.get("type"):
        case "const":
            return (document.get("val", ABSENT),), False
        case "categorical":
            return document["vals"], False
        case "int" | "double" | "log":
            return (document["minval"], document["maxval"]), True
    return (), False


def _text(document: Any) -> str | None:
    if isinstance(document, bool):
        return "true" if document else "false"
    return document if isinstance(document, str) else None


def _number(document: Any) -> float | None:
    return document if isinstance(document, int | float) and not isinstance(document, bool) else None


def _boolean(document: Any) -> bool | None:
    return document if isinstance(document, bool) else None


MONTH, DAY = re.compile(r"\d{4}-\d\d"), re.compile(r"\d{4}-\d\d-\d\d")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)")


def _instant(document: Any) -> datetime | None:
    """A date or a month is its first moment in UTC."""
    if not isinstance(document, str):
        return None
    text = f"{document}-01" if MONTH.fullmatch(document) else document
    if DAY.fullmatch(text) is None and INSTANT.fullmatch(text) is None:
        return None
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


READ: Mapping[Kind, Callable[[Any], Value | None]] = {
    Kind.TEXT: _text,
    Kind.NUMBER: _number,
    Kind.DATE: _instant,
    Kind.BOOLEAN: _boolean,
}

# ---------------------------------------------------------------- orders


def in_order(rows: Sequence[Facts], orders: Sequence[Order]) -> list[Facts]:
    """Rows without a value come last, in either direction; where all else is equal, rows are in the order of ids."""
    found = sorted(rows, key=lambda row: row.id)
    for order in reversed(orders):
        there = [row for row in found if _order_of(row, order.column) is not None]
        there.sort(key=lambda row: _order_of(row, order.column), reverse=order.descending)
        found = there + [row for row in found if _order_of(row, order.column) is None]
    return found


def _order_of(row: Facts, column: Column) -> Any:
    match column:
        case Fixed(name=name):
            return row.orders.get(name, row.fixed[name])
        case Metric():
            return getattr(row.metrics.get((column.group, column.name), NO_REPORTS), column.statistic)
        case Hyperparameter(path=path):
            document = at(row.hyperparameters, path)
            return _ranked(_constant(document) if row.is_search else document)
        case Metadata(path=path):
            return _ranked(at(row.metadata, path))


def _constant(document: Any) -> Any:
    is_constant = isinstance(document, Mapping) and document.get("type") == "const"
    return document.get("val", ABSENT) if is_constant else ABSENT


def _ranked(document: Any) -> tuple[int, Any] | None:
    """Values of documents in the order of `jsonb`: texts before numbers before truth values. Others have no order."""
    if isinstance(document, bool):
        return 2, document
    if isinstance(document, int | float):
        return 1, document
    return (0, document) if isinstance(document, str) else None

"""Filters and orders of runs: what is accepted, and how what is not is refused, with the name of the field."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from resolute.api.runs.column_queries import RUN_COLUMNS, SEARCH_COLUMNS, UNSORTABLE
from resolute.api.runs.filters import (
    Condition,
    Fixed,
    Group,
    Hyperparameter,
    Kind,
    Metadata,
    Metric,
    Operator,
    Order,
    Statistic,
    Wanted,
    check_metrics,
    parse_filter,
    parse_sort,
)
from resolute.proto.errors import InvalidConfig


def field(column: str, operator: str, value: Any, type_: str = "COLUMN_TYPE_UNSPECIFIED") -> dict[str, Any]:
    return {"kind": "field", "columnName": column, "operator": operator, "value": value, "type": type_}


def group(*children: Any, conjunction: str = "and") -> dict[str, Any]:
    return {"kind": "group", "conjunction": conjunction, "children": list(children)}


def parsed(*children: Any) -> Any:
    wanted = parse_filter(json.dumps({"filterGroup": group(*children)}), RUN_COLUMNS)
    assert isinstance(wanted.filter, Group)
    return wanted.filter.parts[0]


def test_no_filter_at_all_asks_for_everything_and_a_filter_leaves_out_what_is_archived() -> None:
    assert parse_filter(None, RUN_COLUMNS) == parse_filter("", RUN_COLUMNS) == Wanted(archived_too=True)
    assert not parse_filter("{}", RUN_COLUMNS).archived_too
    assert parse_filter('{"showArchived": true}', RUN_COLUMNS).archived_too


@pytest.mark.parametrize(
    ("asked", "condition"),
    [
        (field("id", ">", 7), Condition(Fixed("id", Kind.NUMBER), Operator.MORE, 7.0)),
        (field("user", "=", "2"), Condition(Fixed("user", Kind.NUMBER), Operator.EQUAL, 2.0)),
        (field("state", "=", "STATE_ERROR"), Condition(Fixed("state", Kind.TEXT), Operator.EQUAL, "ERROR")),
        (field("state", "=", "RUNNING"), Condition(Fixed("state", Kind.TEXT), Operator.EQUAL, "ACTIVE")),
        (
            field("startTime", ">=", "2026-01-31T12:00:00Z"),
            Condition(Fixed("startTime", Kind.DATE), Operator.AT_LEAST, datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ),
        (field("archived", "=", True), Condition(Fixed("archived", Kind.BOOLEAN), Operator.EQUAL, value=True)),
        (
            field("own.top.5.max", "<", 0.5, "COLUMN_TYPE_NUMBER"),
            Condition(Metric("own", "top.5", Statistic.MAX, Kind.NUMBER), Operator.LESS, 0.5),
        ),
        (
            field("validation.note.last", "contains", "ood", "COLUMN_TYPE_TEXT"),
            Condition(Metric("validation", "note", Statistic.LAST, Kind.TEXT), Operator.CONTAINS, "ood"),
        ),
        (
            field("hp.optimizer.lr", "<=", 0.1, "COLUMN_TYPE_NUMBER"),
            Condition(Hyperparameter(("optimizer", "lr"), Kind.NUMBER), Operator.AT_MOST, 0.1),
        ),
        (
            field("metadata.note", "isEmpty", None, "COLUMN_TYPE_TEXT"),
            Condition(Metadata(("note",), Kind.TEXT), Operator.EMPTY, None),
        ),
    ],
)
def test_a_field_compares_a_column_with_a_value_of_its_kind(asked: dict[str, Any], condition: Condition) -> None:
    assert parsed(asked) == condition


def test_a_field_without_a_value_and_a_group_without_fields_hold_always() -> None:
    assert parsed(field("id", "=", None)) == Group(every=True, parts=())
    assert parsed(group(conjunction="or")) == Group(every=False, parts=())


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("no json", "filter: expected JSON text"),
        ([], "filter: expected an object; found []"),
        ({"showArchived": "yes"}, 'filter.showArchived: expected true or false; found "yes"'),
        ({"filter": {}}, "filter.filter: is unknown; known are filterGroup, showArchived"),
        ({"filterGroup": {"kind": "bunch"}}, 'filter.filterGroup.kind: expected group or field; found "bunch"'),
        ({"filterGroup": field("id", "=", 1)}, 'filter.filterGroup.kind: expected group; found "field"'),
        ({"filterGroup": group(conjunction="xor")}, 'filter.filterGroup.conjunction: expected and or or; found "xor"'),
        ({"filterGroup": group(7)}, "filter.filterGroup.children[0]: expected an object; found 7"),
        (
            {"filterGroup": group(field("id", "=", 1), field("speed", "=", 1))},
            "filter.filterGroup.children[1].columnName: invalid run column 'speed'",
        ),
        ({"filterGroup": group(field("validation.loss.median", "=", 1))}, "invalid run column"),
        (
            {"filterGroup": group(field("id", "contains", 1))},
            "filter.filterGroup.children[0].operator: expected for a number one of = != < <= > >= isEmpty notEmpty",
        ),
        ({"filterGroup": group(field("id", "~", 1))}, "children[0].operator: expected one of = !="),
        ({"filterGroup": group(field("id", "=", "seven"))}, 'children[0].value: expected a number; found "seven"'),
        ({"filterGroup": group(field("id", "=", "nan"))}, "children[0].value: expected a number"),
        ({"filterGroup": group(field("id", "=", True))}, "children[0].value: expected a number; found true"),
        ({"filterGroup": group(field("startTime", ">", "soon"))}, "children[0].value: expected an RFC 3339 instant"),
        ({"filterGroup": group(field("archived", "=", 7))}, "children[0].value: expected true or false; found 7"),
        ({"filterGroup": group(field("experimentName", "=", "a\0"))}, "without the character NUL"),
        ({"filterGroup": group({**field("id", "=", 1), "location": "HERE"})}, "children[0].location: expected one of"),
        ({"filterGroup": group(field("id", "=", 1, "INT"))}, "children[0].type: expected one of"),
        ({"filterGroup": group({**field("id", "=", 1), "operator": []})}, "children[0].operator: expected one of"),
        ({"filterGroup": group({**field("id", "=", 1), "location": ["a"]})}, "children[0].location: expected one of"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_name_of_the_field(asked: Any, refusal: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_filter(asked if isinstance(asked, str) else json.dumps(asked), RUN_COLUMNS)
    assert refusal in refused.value.message


def test_filters_are_bounded_in_depth_and_number() -> None:
    deep: Any = group()
    for _ in range(25):
        deep = group(deep)
    with pytest.raises(InvalidConfig, match="at most 20 levels"):
        parse_filter(json.dumps({"filterGroup": deep}), RUN_COLUMNS)
    with pytest.raises(InvalidConfig, match="at most 200 fields; found 201"):
        parse_filter(json.dumps({"filterGroup": group(*[field("id", "=", 1)] * 201)}), RUN_COLUMNS)
    many = parse_filter(json.dumps({"filterGroup": group(*[field(f"a.b{n}.min", "=", 1) for n in range(21)])}), {})
    with pytest.raises(InvalidConfig, match="at most 20 metrics; found 21"):
        check_metrics(many.filter, ())


def test_an_order_names_columns_and_directions() -> None:
    assert parse_sort("validation.loss.min=asc,id=desc", RUN_COLUMNS, UNSORTABLE) == (
        Order(Metric("validation", "loss", Statistic.MIN, Kind.NUMBER), descending=False),
        Order(Fixed("id", Kind.NUMBER), descending=True),
    )
    assert parse_sort(None, RUN_COLUMNS, UNSORTABLE) == ()


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("id", "sort: invalid sort parameter: id"),
        ("=asc", "sort: invalid sort parameter: =asc"),
        ("id=up", "sort: invalid sort direction: up; use asc or desc"),
        ("speed=asc", "sort: invalid sort col: speed"),
        ("tags=asc", "sort: invalid sort col: tags"),
        (",".join(["id=asc"] * 11), "sort: expected at most 10 columns; found 11"),
    ],
)
def test_an_order_that_is_not_understood_is_refused(asked: str, refusal: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_sort(asked, SEARCH_COLUMNS, UNSORTABLE)
    assert refusal in refused.value.message

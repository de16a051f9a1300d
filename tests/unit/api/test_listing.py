"""Lists: the order they are asked for in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from resolute.api.views.listing import order_by
from resolute.proto.errors import InvalidConfig

COLUMNS = {"SORT_BY_ID": "e.id", "SORT_BY_NAME": "e.name", "SORT_BY_START_TIME": "e.started_at"}


def asked(**query: str) -> str:
    call = cast(Any, SimpleNamespace(query=SimpleNamespace(text=lambda key: query.get(key, ""))))
    return order_by(call, COLUMNS, "e.id", tie="e.id", never_null=("e.started_at",))


@pytest.mark.parametrize(
    ("sort", "direction", "order"),
    [
        ("", "", "e.id ASC"),
        ("SORT_BY_ID", "ORDER_BY_DESC", "e.id DESC"),
        ("SORT_BY_START_TIME", "ORDER_BY_DESC", "e.started_at DESC, e.id DESC"),
        ("SORT_BY_NAME", "ORDER_BY_DESC", "e.name DESC NULLS LAST, e.id DESC"),
    ],
)
def test_what_is_missing_comes_last_and_what_never_is_can_be_walked_by_its_index(
    sort: str, direction: str, order: str
) -> None:
    assert asked(sortBy=sort, orderBy=direction) == f" ORDER BY {order}"


def test_an_order_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidConfig, match="sortBy: 'SORT_BY_MOON' is unknown here; use one of SORT_BY_ID"):
        asked(sortBy="SORT_BY_MOON")

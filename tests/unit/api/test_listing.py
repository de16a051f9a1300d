"""Lists: the order they are asked for in."""

from __future__ import annotations

import pytest

from resolute.api.kernel.listing import ordering
from resolute.proto.errors import InvalidConfig
from tests.unit.api.edge import read_query


@pytest.mark.parametrize(
    ("column", "descending", "order"),
    [
        ("e.id", False, "e.id ASC"),
        ("e.id", True, "e.id DESC"),
        ("e.started_at", True, "e.started_at DESC, e.id DESC"),
        ("e.name", True, "e.name DESC NULLS LAST, e.id DESC"),
        ("e.name", False, "e.name ASC NULLS LAST, e.id ASC"),
    ],
)
def test_what_is_missing_comes_last_and_what_never_is_can_be_walked_by_its_index(
    column: str, descending: bool, order: str
) -> None:
    assert ordering(column, "e.id", descending=descending, never_null=("e.started_at",)) == f" ORDER BY {order}"


def test_an_order_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidConfig, match=r"sortBy: expected one of SORT_BY_UNSPECIFIED, SORT_BY_ID, .*SORT_BY_MOON"):
        read_query("GetExperiments", {"sortBy": ["SORT_BY_MOON"]})

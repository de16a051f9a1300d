from dataclasses import dataclass

import pytest

from resolute.api.kernel.building import by_name


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


def test_a_row_is_made_of_the_fields_by_their_names_in_whichever_order_they_come() -> None:
    assert by_name(Point)({"y": 2, "x": 1, "of another query": 3}) == Point(1, 2)


def test_a_field_that_is_missing_is_an_error_though_it_has_a_default() -> None:
    with pytest.raises(KeyError, match="y"):
        by_name(Point)({"x": 1})

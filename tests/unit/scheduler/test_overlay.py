"""Drafts over tables and orders: as a copy would be, without copying."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.scheduling.overlay import Order, Table

KEYS = st.integers(0, 8)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "discard", "draft"]), KEYS), max_size=30)


@given(STEPS)
def test_an_order_and_its_drafts_behave_as_a_sorted_set(steps: list[tuple[str, int]]) -> None:
    order: Order[tuple[int]] = Order()
    model: set[tuple[int]] = set()
    for what, key in steps:
        if what == "draft":
            order = order.draft()
        elif what == "add":
            order.add((key,))
            model.add((key,))
        else:
            order.discard((key,))
            model.discard((key,))
        assert list(order) == sorted(model)
        assert list(order.since((4,))) == sorted(entry for entry in model if entry >= (4,))


@given(STEPS)
def test_a_table_and_its_drafts_behave_as_a_dictionary(steps: list[tuple[str, int]]) -> None:
    table: Table[int, str] = Table()
    model: dict[int, str] = {}
    for number, (what, key) in enumerate(steps):
        if what == "draft":
            table = table.draft()
        elif what == "add":
            table[key] = model[key] = str(number)
        else:
            table.discard(key)
            model.pop(key, None)
        assert dict(table.items()) == model
        assert all(table.get(k) == model.get(k) for k in range(9))


@given(STEPS)
def test_what_is_beneath_a_draft_never_changes(steps: list[tuple[str, int]]) -> None:
    beneath: Order[tuple[int]] = Order()
    for key in range(0, 9, 2):
        beneath.add((key,))
    draft = beneath.draft()
    for what, key in steps:
        (draft.add if what == "add" else draft.discard)((key,))
    assert list(beneath) == [(0,), (2,), (4,), (6,), (8,)]

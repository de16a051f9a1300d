"""Projections fold events into rows that are in memory, and wait for rows that are not, without leaving a trace."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from resolute.api.kernel.cache import CachedRows, Missing, Wanted, memory_rows
from resolute.api.kernel.fold import fold
from resolute.api.kernel.rows import Key, Kind, Table
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AgentDisabled, AgentLost
from tests.unit.api.toy_slice import HOUSES, TABLES, VISITORS, House, Visitor, joined, project, recorded


class Store:
    """Tables somewhere else, from which rows are loaded, and to which changes are written."""

    def __init__(self) -> None:
        self.tables: dict[Table[Any], dict[Key, Any]] = {table: {} for table in TABLES}
        self.loads = 0

    def load(self, rows: CachedRows, wanted: tuple[Wanted, ...]) -> None:
        self.loads += 1
        for one in wanted:
            held = self.tables[one.table]
            if one.lookup:
                rows.load(one, [row for row in held.values() if getattr(row, one.lookup) == one.key[0]])
            else:
                rows.load(one, [held[one.key]] if one.key in held else [])

    def write(self, rows: CachedRows) -> None:
        for table, changed in rows.changes().items():
            for key, row in changed.items():
                if row is None:
                    self.tables[table].pop(key, None)
                else:
                    self.tables[table][key] = row
        rows.written()


def fold_with(store: Store, rows: CachedRows, events: list[Recorded]) -> list[int]:
    """Fold all of the events; the positions of those that could not be shown."""
    refused = []
    while events:
        folded = fold(project, rows, events)
        refused += [one.recorded.position for one in folded.refused]
        events = events[folded.count :]
        if folded.wanted:
            store.load(rows, folded.wanted)
    return refused


def test_what_was_put_is_found_by_its_key_and_by_its_lookups() -> None:
    rows = memory_rows(TABLES)
    fold(project, rows, recorded(joined("a"), joined("b"), joined("b", "there")))
    assert [visitor.agent_id for visitor in rows.where(VISITORS, "host", "here")] == ["a"]
    assert rows.get(VISITORS, "b") == Visitor("b", "there", 2, 0.5, (), {"since": 2})
    assert rows.all(HOUSES) == [House("here", 1), House("there", 1)]
    fold(project, rows, recorded(AgentLost("a", "gone")))
    assert rows.get(VISITORS, "a") is None
    assert rows.all(HOUSES) == [House("there", 1)]


def test_a_row_that_is_not_loaded_is_not_taken_for_one_that_does_not_exist() -> None:
    rows = CachedRows(TABLES)
    with pytest.raises(Missing) as missing:
        rows.get(VISITORS, "a")
    assert missing.value.wanted == Wanted(VISITORS, ("a",))
    with pytest.raises(Missing) as missing:
        rows.where(VISITORS, "host", "here")
    assert missing.value.wanted == Wanted(VISITORS, ("here",), "host")


def test_an_event_that_waits_for_rows_leaves_no_trace_and_the_rows_of_later_events_are_asked_for_with_it() -> None:
    rows = CachedRows(TABLES)
    folded = fold(project, rows, recorded(joined("a"), joined("b"), joined("a")))
    assert (folded.count, rows.changes()) == (0, {})
    assert folded.wanted == (Wanted(VISITORS, ("a",)), Wanted(VISITORS, ("b",)))


def test_a_change_of_a_row_that_does_not_exist_does_nothing() -> None:
    rows = memory_rows(TABLES)
    rows.change(VISITORS, "a", joined=3)
    assert (rows.all(VISITORS), rows.changes()) == ([], {})


def test_an_event_that_cannot_be_shown_leaves_no_trace_and_stops_no_other() -> None:
    rows = memory_rows(TABLES)
    folded = fold(project, rows, recorded(joined("bad"), AgentDisabled("bad", False), joined("b")))
    assert [refusal.recorded.position for refusal in folded.refused] == [2]
    assert [visitor.joined for visitor in rows.all(VISITORS)] == [1, 1]


def story(chance: Random, length: int) -> list[Recorded]:
    names = [f"{kind}-{n}" for kind in ("good", "bad") for n in range(4)]
    events: list[Event] = []
    for _ in range(length):
        name = chance.choice(names)
        events.append(
            chance.choice([joined(name, chance.choice("xyz")), AgentDisabled(name, False), AgentLost(name, "gone")])
        )
    return recorded(*events)


@pytest.mark.parametrize("seed", range(30))
def test_rows_that_are_loaded_when_they_are_wanted_come_to_the_same_as_whole_tables_in_memory(seed: int) -> None:
    chance = Random(seed)
    events = story(chance, 120)
    whole = memory_rows(TABLES)
    refused_of_whole = [one.recorded.position for one in fold(project, whole, events).refused]
    store, rows, refused = Store(), CachedRows(TABLES), list[int]()
    while events:
        size = chance.randint(1, 25)
        refused += fold_with(store, rows, events[:size])
        events = events[size:]
        store.write(rows)
        if chance.random() < 0.5:
            rows = CachedRows(TABLES)
    assert refused == refused_of_whole
    held = [[rows[key] for key in sorted(rows)] for rows in store.tables.values()]
    assert repr(held) == repr([whole.all(VISITORS), whole.all(HOUSES)])  # as text: NaN is not equal to itself


def test_a_column_is_written_as_its_type_says() -> None:
    assert {column.name: column.kind for column in VISITORS.columns} == {
        "agent_id": Kind.PLAIN,
        "host": Kind.PLAIN,
        "joined": Kind.PLAIN,
        "share": Kind.FLOAT,
        "slots": Kind.ARRAY,
        "note": Kind.DOCUMENT,
    }

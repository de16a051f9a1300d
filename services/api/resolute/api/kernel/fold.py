"""Folding events into rows, and undoing what a projection did for an event that it could not fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from resolute.api.kernel.cache import CachedRows, Missing, Wanted
from resolute.api.kernel.rows import Project
from resolute.proto.message import Recorded

FORESEEN_CHANGES = 1_000
"""How many changes of rows may be made, and undone again, to find out what later events want. An experiment that is
deleted takes many thousand rows with it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that a projection cannot show."""

    recorded: Recorded
    error: Exception


@dataclass(frozen=True, slots=True)
class Folded:
    count: int
    """How many of the events are folded, those that were refused among them."""
    wanted: tuple[Wanted, ...]
    """Rows that have to be loaded before the next event can be folded; empty when all are."""
    refused: tuple[Refusal, ...]


def fold(project: Project, rows: CachedRows, events: Sequence[Recorded]) -> Folded:
    """Fold events up to the first whose rows are not loaded. An event is folded as a whole or leaves no trace."""
    refused: list[Refusal] = []
    for count, recorded in enumerate(events):
        mark = rows.mark()
        try:
            project(recorded, rows)
        except Missing as missing:
            rows.undo(mark)
            wanted = {missing.wanted: None, **_foreseen(project, rows, events[count + 1 :])}
            return Folded(count, tuple(wanted), tuple(refused))
        except Exception as error:  # noqa: BLE001  (whatever it is, it concerns this event alone)
            rows.undo(mark)
            refused.append(Refusal(recorded, error))
    return Folded(len(events), (), tuple(refused))


def _foreseen(project: Project, rows: CachedRows, events: Iterable[Recorded]) -> dict[Wanted, None]:
    """What later events will probably want, so that all of it is loaded at once. They are folded on trial, without the
    event that waits for its rows, and everything that they do is undone."""
    wanted: dict[Wanted, None] = {}
    start = rows.mark()
    for recorded in events:
        mark = rows.mark()
        if mark - start > FORESEEN_CHANGES:
            break
        try:
            project(recorded, rows)
        except Missing as missing:
            rows.undo(mark)
            wanted[missing.wanted] = None
        except Exception:  # noqa: BLE001  (what is folded here is no state that ever was)
            rows.undo(mark)
    rows.undo(start)
    return wanted

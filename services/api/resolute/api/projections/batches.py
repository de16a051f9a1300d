"""Many statements as few: those of one SQL that may run together travel to the database together.

Each statement is put as early as the rows it touches allow, one step after the last statement that touched any of
them, or into the same step when that one has the same SQL, for those run in the order given. The tables end up as
if the statements had run one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from resolute.api.projections.statement import Statement

Group = tuple[str, list[tuple[Any, ...]]]


def groups(statements: Iterable[Statement]) -> Iterator[Group]:
    """SQL with the arguments of all its runs, in an order that comes to the same."""
    waiting = _Steps()
    for statement in statements:
        if not statement.touches:
            yield from waiting.taken()
            yield statement.sql, [statement.args]
        else:
            waiting.add(statement)
    yield from waiting.taken()


class _Steps:
    def __init__(self) -> None:
        self._steps: list[dict[str, list[tuple[Any, ...]]]] = []
        self._last: dict[str, tuple[int, str]] = {}
        """By what was touched: the last step that did, and its SQL."""

    def add(self, statement: Statement) -> None:
        step = 0
        for touched in statement.touches:
            if (last := self._last.get(touched)) is not None:
                step = max(step, last[0] + (last[1] != statement.sql))
        while len(self._steps) <= step:
            self._steps.append({})
        self._steps[step].setdefault(statement.sql, []).append(statement.args)
        for touched in statement.touches:
            self._last[touched] = (step, statement.sql)

    def taken(self) -> Iterator[Group]:
        steps, self._steps, self._last = self._steps, [], {}
        for step in steps:
            yield from step.items()

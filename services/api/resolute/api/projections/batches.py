"""Many statements as few: those of one SQL that may run together travel to the database together.

Each statement is put as early as the rows it touches allow, one step after the last statement that touched any of
them, or into the same step when that one has the same SQL, for those run in the order given. The tables end up as
if the statements had run one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from resolute.api.projections.statement import Statement

Args = tuple[Any, ...]

Group = tuple[str, list[Args]]


def groups(statements: Iterable[Statement]) -> Iterator[Group]:
    """SQL with the arguments of all its runs, in an order that comes to the same."""
    waiting = _Steps()
    for statement in statements:
        if statement.derived:
            waiting.add_derived(statement)
        elif not statement.touches:
            yield from waiting.taken()
            yield statement.sql, [statement.args]
        else:
            waiting.add(statement)
    yield from waiting.taken()


class _Steps:
    def __init__(self) -> None:
        self._steps: list[dict[str, dict[Any, Args]]] = []
        """For each step and SQL the arguments, by what tells apart the runs that all have to happen."""
        self._last: dict[str, tuple[int, str]] = {}
        """By what was touched: the last step that did, and its SQL."""
        self._derived: dict[str, dict[Args, None]] = {}
        self._count = 0

    def add(self, statement: Statement) -> None:
        step = 0
        for touched in statement.touches:
            if (last := self._last.get(touched)) is not None:
                step = max(step, last[0] + (last[1] != statement.sql))
        while len(self._steps) <= step:
            self._steps.append({})
        self._count += 1
        key = statement.args[0] if statement.overwrites else (self._count,)
        self._steps[step].setdefault(statement.sql, {})[key] = statement.args
        for touched in statement.touches:
            self._last[touched] = (step, statement.sql)

    def add_derived(self, statement: Statement) -> None:
        self._derived.setdefault(statement.sql, {})[statement.args] = None

    def taken(self) -> Iterator[Group]:
        steps, self._steps, self._last = self._steps, [], {}
        derived, self._derived = self._derived, {}
        for step in steps:
            for sql, runs in step.items():
                yield sql, list(runs.values())
        for sql, once in derived.items():
            yield sql, list(once)

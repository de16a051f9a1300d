"""Patterns that lines of a log are held against: regular expressions of RE2, which never look at a byte twice.

Everybody's patterns are matched where everybody's lines arrive. Python's own `re` lets a pattern of twenty letters
take minutes over one line; RE2 (Cox 2007, swtch.com/~rsc/regexp) takes time linear in the line whatever the pattern,
and its dialect is the one that existing configurations are written in. It has no look-around and no back
references. What is left to bound is the constant: the length of a pattern and the size of its automaton.
"""

from __future__ import annotations

from collections.abc import Sequence

import re2

LONGEST = 1000
"""Characters of a pattern."""

LARGEST = 2000
"""Instructions of a compiled pattern: `.{100}` has 800."""

MOST = 100
"""Patterns that are looked for together."""

LARGEST_TOGETHER = 20_000
"""Instructions of all of those."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # what is wrong is told to whoever wrote it
_OPTIONS.max_mem = 32 << 20  # more than patterns within the bounds above can need, so that none is given up in a search


def problem_with(pattern: str) -> str | None:
    """What keeps `pattern` from being used; None when nothing does."""
    if len(pattern) > LONGEST:
        return f"it is {len(pattern)} characters long; at most {LONGEST} would do"
    try:
        size = re2.compile(pattern, _OPTIONS).programsize
    except re2.error as error:
        return _said(error)
    if size > LARGEST:
        return f"it is too large when compiled ({size} of {LARGEST} instructions); repeat less, as in .* for .{{500}}"
    return None


def problem_with_all(patterns: Sequence[str]) -> str | None:
    """What keeps `patterns`, none of which has a problem of its own, from being looked for together."""
    if len(patterns) > MOST:
        return f"there are {len(patterns)} patterns; at most {MOST} would do"
    size = sum(re2.compile(pattern, _OPTIONS).programsize for pattern in patterns)
    if size > LARGEST_TOGETHER:
        return f"together they are too large when compiled ({size} of {LARGEST_TOGETHER} instructions); repeat less"
    return None


def _said(error: re2.error) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


class Patterns:
    """Several patterns, looked for together: one pass over the text for all of them."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """`patterns` must have no problem, each and all together."""
        self._set = re2.Set.SearchSet(_OPTIONS)
        for pattern in patterns:
            self._set.Add(f"(?m){pattern}")  # a line's ends are ends, also in the midst of others
        self._set.Compile()
        # What means the very beginning or end, or takes the above back, must see each line alone.
        self._together = not any(mark in pattern for pattern in patterns for mark in (r"\A", r"\z", "(?"))

    def may_match(self, text: str) -> bool:
        """Whether any line of `text` may match: False is certain, and by far the most frequent and cheapest answer.
        A thousand ordinary lines take 0.2 ms."""
        return not self._together or bool(self._set.Match(text))

    def first_matches(self, lines: Sequence[str]) -> dict[int, int]:
        """For each pattern that a line matches, by their places: the first such line."""
        if not lines or not self.may_match("\n".join(lines)):
            return {}
        found: dict[int, int] = {}
        for place, line in enumerate(lines):
            for pattern in self._set.Match(line) or ():
                found.setdefault(pattern, place)
        return found

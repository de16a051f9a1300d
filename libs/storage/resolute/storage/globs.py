"""Patterns over a checkpoint's paths: `*`, `?`, `[…]` within a directory, `**` across them.

A person sends the pattern and a trial names the files, so neither is trusted. A pattern becomes an expression of RE2
(Cox 2007, swtch.com/~rsc/regexp), whose matching takes time linear in the path whatever the pattern; Python's own `re`
takes longer than the age of the universe for `*a*a*a*a*a*a*a*a*a*b` and a name of a hundred `a`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial

import re2

from determined.common.storage import Choice

MOST = 100
"""Patterns of one request."""

LONGEST = 500
"""Characters of a pattern."""

LARGEST_TOGETHER = 10_000
"""Instructions of all patterns of one request, compiled: a letter has one, `*` and `?` have twelve."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_NOTHING = r"[^\x{0}-\x{10FFFF}]"


def problem_with(globs: Sequence[str]) -> str | None:
    """What keeps these patterns from being used together; None when nothing does."""
    if len(globs) > MOST:
        return f"found {len(globs)} patterns; send at most {MOST} in one request"
    for glob in globs:
        if len(glob) > LONGEST:
            return f"the pattern {glob[:40] + '…'!r} has {len(glob)} characters; use at most {LONGEST}"
    size = _compiled(tuple(globs)).programsize
    if size > LARGEST_TOGETHER:
        return f"the patterns are too large together ({size} of {LARGEST_TOGETHER} instructions); use fewer wildcards"
    return None


def choosing(globs: Sequence[str]) -> Choice | None:
    """What a storage's `delete` is given for these patterns; without patterns everything goes."""
    return partial(matching, tuple(globs)) if globs else None


def matching(globs: Sequence[str], paths: Iterable[str]) -> set[str]:
    """Those of `paths` that a pattern matches, or that lie in a directory which one matches."""
    pattern = _compiled(tuple(globs))
    return {path for path in paths if pattern.fullmatch(_text(path.rstrip("/"))) is not None}


def _text(path: str) -> str:
    """A name may hold bytes that are no UTF-8, which RE2 does not take: each of them counts as a question mark."""
    return path.encode("utf-8", "replace").decode()


@lru_cache(maxsize=256)
def _compiled(globs: tuple[str, ...]) -> re2._Regexp:
    """One expression for all patterns. Its last part takes what lies in a directory that matches."""
    either = "|".join(_expression(_text(glob.strip("/"))) for glob in globs)
    return re2.compile(f"(?s)(?:{either})(?:/.*)?", _OPTIONS)


def _expression(glob: str) -> str:
    *folders, name = glob.split("/")
    above = "".join("(?:[^/]+/)*" if folder == "**" else f"{_part(folder)}/" for folder in folders)
    return above + (".+" if name == "**" else _part(name))


def _part(part: str) -> str:
    """One directory's or file's name; a pattern here never matches a slash."""
    found, place = "", 0
    while place < len(part):
        end = _end_of_choice(part, place)
        if end is not None:
            found += _choice(part[place + 1 : end])
            place = end
        else:
            found += _WILDCARDS.get(part[place]) or re2.escape(part[place])
        place += 1
    return found


_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


def _end_of_choice(part: str, start: int) -> int | None:
    """Where the `[…]` that begins at `start` is closed; None when none begins there, or nothing closes it."""
    if part[start] != "[":
        return None
    first = start + 1
    if part[first : first + 1] in ("!", "^"):
        first += 1
    end = part.find("]", first + 1)  # a bracket in the first place is one of the characters to choose from
    return None if end < 0 else end


def _choice(inside: str) -> str:
    """`[…]`: a range the wrong way round holds nothing, as in a shell."""
    negated = inside[0] in "!^"
    slash = ord("/")
    ranges = list(_ranges(inside[1:] if negated else inside))
    if negated:
        return _class("^", [*ranges, (slash, slash)])
    parts = [part for low, high in ranges for part in ((low, min(high, slash - 1)), (max(low, slash + 1), high))]
    return _class("", [(low, high) for low, high in parts if low <= high])


def _ranges(body: str) -> Iterator[tuple[int, int]]:
    place = 0
    while place < len(body):
        is_range = body[place + 1 : place + 2] == "-" and place + 2 < len(body)
        low, high = ord(body[place]), ord(body[place + 2] if is_range else body[place])
        if low <= high:
            yield low, high
        place += 3 if is_range else 1


def _class(sign: str, ranges: Sequence[tuple[int, int]]) -> str:
    if not ranges:
        return _NOTHING
    inside = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges)
    return f"[{sign}{inside}]"

"""Lines of output as Postgres can hold them: its text has no NUL, so another character is stored for it.

NUL is stored as U+10FFFF, which Unicode reserves for use inside programs: no text that is exchanged has it. Should a
task print it all the same, or one of the three characters that are used here to write it down, the line is stored with
a short sequence instead, so that every line comes back exactly as it was printed. All other lines, which is nearly all
lines, are stored as they are: searching, filtering and indexing them costs what it did.

One character stands for one NUL, so that `.` in a regular expression finds it. Each sequence begins and ends with a
character of its own, so that a text is part of a line exactly when its stored form is part of the stored line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUL = "\U0010ffff"
_BEGIN, _MORE, _END = "\U0010fffe", "\U000fffff", "\U000ffffe"

_STORED = {
    "\0": _NUL,
    _NUL: _BEGIN + _END,
    _BEGIN: _BEGIN + _MORE + _END,
    _MORE: _BEGIN + 2 * _MORE + _END,
    _END: _BEGIN + 3 * _MORE + _END,
}
_PRINTED = {stored: printed for printed, stored in _STORED.items()}

_TO_STORE = str.maketrans(_STORED)
_TO_PRINT = re.compile(f"{_NUL}|{_BEGIN}{_MORE}{{0,3}}{_END}")

_NUL_IN_PATTERN = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:x00|x\{0+\}|0{1,3}(?![0-9]))")
"""NUL as regular expressions write it: `\\x00`, `\\x{0}`, `\\0`; not after a backslash that stands for itself."""


def stored(text: str) -> str:
    """What is stored for a line of output, or for a text to look for."""
    return text.translate(_TO_STORE) if _changes(text) else text


def all_stored(texts: Sequence[str]) -> Sequence[str]:
    """`stored` of each, at less than a look at each: lines arrive by the thousand, and hardly ever does one change."""
    return [stored(text) for text in texts] if _changes("".join(texts)) else texts


def _changes(text: str) -> bool:
    # Searches in C. The last four end at once where the text has no character beyond U+FFFF.
    return "\0" in text or _NUL in text or _BEGIN in text or _MORE in text or _END in text


def printed(text: str) -> str:
    """The line of output that `text` was stored for. A row of an earlier release is answered as it is."""
    if text.isascii() or not (_NUL in text or _BEGIN in text):
        return text
    return _TO_PRINT.sub(lambda found: _PRINTED[found[0]], text)


def stored_pattern(pattern: str) -> str:
    """A regular expression that finds in stored lines what `pattern` finds in lines of output."""
    return stored(_NUL_IN_PATTERN.sub(lambda found: found[1] + "\0", pattern))

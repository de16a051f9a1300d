"""Patterns over a checkpoint's paths: `*`, `?`, `[…]` within a directory, `**` across them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache


def matching(globs: Sequence[str], paths: Iterable[str]) -> set[str]:
    """Those of `paths` that a pattern matches, or that lie in a directory which one matches."""
    patterns = [_compiled(glob.strip("/")) for glob in globs]
    return {path for path in paths if any(_reaches(pattern, path.rstrip("/")) for pattern in patterns)}


def _reaches(pattern: re.Pattern[str], path: str) -> bool:
    parts = path.split("/")
    return any(pattern.fullmatch("/".join(parts[:length])) for length in range(1, len(parts) + 1))


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    parts = glob.split("/")
    last = len(parts) - 1
    return re.compile("".join(_part(part, i == last) for i, part in enumerate(parts)))


def _part(part: str, is_last: bool) -> str:
    if part == "**":
        return ".+" if is_last else "(?:[^/]+/)*"
    return "".join(map(_token, re.findall(r"\[[!^]?\]?[^]]*\]|.", part))) + ("" if is_last else "/")


def _token(token: str) -> str:
    match token:
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if len(token) > 1:
            return _choice(token[1:-1])
    return re.escape(token)


def _choice(inside: str) -> str:
    """`[…]`: a range the wrong way round matches nothing, as in a shell."""
    negated = inside[0] in "!^"
    body = re.sub(r"([\\\[\]&~|^])", r"\\\1", inside[1:] if negated else inside)
    try:
        re.compile(f"[{body}]")
    except re.error:
        return "(?!)"
    return f"(?!/)[{'^' if negated else ''}{body}]"

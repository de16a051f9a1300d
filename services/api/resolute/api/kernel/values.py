"""Single values of requests, held against their kind: texts, numbers, truth values, instants, documents.

Each check answers with the value as Python has it, or raises `Unfit`, which says what would do and what was found.
Where in the request the value stands is known to the caller, who puts the path of the field before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from resolute.api.kernel import kinds
from resolute.api.kernel.kinds import Kind

WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)

KEY = kinds.parse("string<..4096>")
"""What the keys of objects are, and parameters of paths that no operation declares."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class Unfit(ValueError):
    """A value that does not fit: "expected text; found 5"."""


def check_text(kind: Kind, value: Any) -> str:
    _expect(isinstance(value, str), "text", value)
    expect_within(kind, len(value), value)
    _expect("\0" not in value, "text without the character NUL", value)
    return _unicode(value)


def check_any_text(kind: Kind, value: Any) -> str:
    _expect(isinstance(value, str), "text", value)
    expect_within(kind, len(value), value)
    return _unicode(value)


def _unicode(value: str) -> str:
    if not value.isascii():
        _expect(_SURROGATES.search(value) is None, "text in Unicode, without lone surrogates", value)
    return value


def check_base64(kind: Kind, value: Any) -> str:
    """The text itself: those who read it say what is wrong with its padding."""
    _expect(isinstance(value, str) and value.isascii(), "base64 text", value)
    expect_within(kind, len(value), value)
    return str(value)


def check_instant(kind: Kind, value: Any) -> datetime | None:
    """The instant; nothing for an empty text."""
    _expect(isinstance(value, str | datetime), "an RFC 3339 instant, such as 2026-01-31T12:00:00Z", value)
    return instant(value)


def instant(value: Any) -> datetime | None:
    """What RFC 3339 says (any offset), or nothing. Raises Unfit."""
    if value in (None, ""):
        return None
    try:
        at = datetime.fromisoformat(str(value))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        at.astimezone(UTC)  # near the years 1 and 9999 not every time zone's instant has a form in UTC
    except (ValueError, OverflowError):
        shown = ascii(str(value)[:60])
        raise Unfit(f"expected an RFC 3339 instant, such as 2026-01-31T12:00:00Z; found {shown}") from None
    return at


def check_whole(kind: Kind, value: Any) -> int:
    """Whole numbers may come as strings, as 64-bit ones must, and as floats without a fraction."""
    assert kind.least is not None, "whole numbers have a range"
    assert kind.most is not None, "whole numbers have a range"
    number: int | None = None
    if (
        (isinstance(value, str) and WHOLE.fullmatch(value))
        or (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ):
        number = int(value)
    if number is None or not kind.least <= number <= kind.most:
        raise wrong(f"a whole number from {kind.least} to {kind.most}", value)
    return number


def check_float(kind: Kind, value: Any) -> float:
    """Numbers may come as strings, as NaN and the infinities must. A range leaves NaN out."""
    number = _as_number(value)
    if number is None:
        raise wrong("a number", value)
    if kind.least is not None or kind.most is not None:
        least, most = (-math.inf if kind.least is None else kind.least), (math.inf if kind.most is None else kind.most)
        _expect(least <= number <= most, f"a number from {least:g} to {most:g}", value)
    return number


def _as_number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case float() | int():
            return value
        case str():
            with suppress(ValueError):
                return float(value)
    return None


def check_bool(kind: Kind, value: Any) -> bool:
    _expect(isinstance(value, bool), "true or false", value)
    return bool(value)


def check_object(kind: Kind, value: Any) -> dict[str, Any]:
    """A document of the user's own, left as it is; how deep it may be nested is bounded where bodies are parsed."""
    _expect(isinstance(value, dict), "an object", value)
    return dict(value)


def check_any(kind: Kind, value: Any) -> Any:
    return value


PLAIN: Mapping[str, Callable[[Kind, Any], Any]] = {
    "string": check_text,
    "text": check_any_text,
    "string(base64)": check_base64,
    "string(date-time)": check_instant,
    "string(int64)": check_whole,
    "int": check_whole,
    "float": check_float,
    "bool": check_bool,
    "object": check_object,
    "any": check_any,
}
"""By the name of a plain kind: its check."""

FLAGS: Mapping[str, bool | None] = {"true": True, "1": True, "false": False, "0": False, "null": None}
"""What truth values are in a query, in any case of letters; `null` means that nothing is asked."""


def check_flag(text: str) -> bool | None:
    """A truth value of a query."""
    _expect(text.lower() in FLAGS, "true or false", text)
    return FLAGS[text.lower()]


def check_list(kind: Kind, value: Any) -> Sequence[Any]:
    """A list of a length that will do; its elements are checked by the caller."""
    if not isinstance(value, list | tuple):
        raise wrong("a list", value)
    expect_within(kind, len(value), value)
    return value


def check_map(kind: Kind, value: Any) -> dict[str, Any]:
    """An object with keys that will do; what stands under them is checked by the caller."""
    entries = expect_object(value)
    expect_within(kind, len(entries), entries)
    for key in entries:
        check_text(KEY, key)
    return entries


def expect_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong("an object", value)
    return value


def enum_name(known: Sequence[str], value: Any) -> str:
    """The name of an enum's value, which clients may send as a number, or without the part that all names share."""
    if isinstance(value, str) and value in known:
        return value
    if isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(known):
        return known[value]
    for candidate in (str(value).upper(), f"{_shared(known)}{value}".upper()):
        if candidate in known:
            return candidate
    raise wrong(f"one of {', '.join(known)}", value)


def _shared(known: Sequence[str]) -> str:
    """The words that all names of an enum begin with: `LOG_LEVEL_`."""
    words = zip(*(name.split("_") for name in known), strict=False)
    return "".join(f"{word[0]}_" for word in takewhile(lambda several: len(set(several)) == 1, words))


# ---------------------------------------------------------------- what is said of a value that does not fit


def expect_within(kind: Kind, length: int, value: Any) -> None:
    assert kind.least is not None, "lengths have a range"
    assert kind.most is not None, "lengths have a range"
    if kind.least <= length <= kind.most:
        return
    unit = "characters" if isinstance(value, str) else "elements"
    bounds = f"at most {kind.most}" if length > kind.most else f"at least {kind.least}"
    raise Unfit(f"expected {bounds} {unit}; found {length}")


def _expect(fits: bool, wanted: str, value: Any) -> None:
    if not fits:
        raise wrong(wanted, value)


def wrong(wanted: str, value: Any) -> Unfit:
    shown = ascii(value[:60] if isinstance(value, str | list) else value)
    found = shown if len(shown) <= 60 else f"{shown[:59]}…"
    return Unfit(f"expected {wanted}; found {found}")

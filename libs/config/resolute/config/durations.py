"""Spans of time as Go writes them: `30s`, `5m`, `1h30m`."""

from __future__ import annotations

import re

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 100
"""Characters; looking for the parts of a text takes time quadratic in its length."""

_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """The span in seconds. Raises ValueError, saying what would do, when `text` is no duration."""
    plain = text.strip()
    parts = _PART.findall(plain[: _LONGEST + 1])
    if plain == "0":
        return 0.0
    if not parts or "".join(number + unit for number, unit in parts) != plain:
        raise ValueError(f"expected a duration such as 30s, 5m or 1h30m; found {text[:_LONGEST]!r}")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)

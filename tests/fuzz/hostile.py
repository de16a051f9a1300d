"""Values that have broken something somewhere: in JSON, in a path or a query, and whole bodies."""

from __future__ import annotations

import json
from typing import Any

NESTED: list[Any] = []
for _ in range(100):
    NESTED = [NESTED]

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**31,
    -(2**31) - 1,
    2**63,
    2**64,
    10**40,
    1e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "null",
    "NaN",
    "1",
    "x",
    "\0",
    "a\0b",
    "\ud800",
    "\U0001f4a5",
    "\u202e",
    "'; DROP TABLE events; --",
    "%s%n{0}{name}$1",
    "../../etc/passwd",
    "a" * 300,
    "a" * 5_000,
    "é" * 70_000,
    "9" * 5_000,
    "1_000",
    "１",
    "2026-13-45T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    [],
    [None],
    [[]],
    [1],
    ["\0"],
    {},
    {"": None},
    {"a\0": "\0"},
    {"__proto__": {"a": 1}},
    {"type": "int"},
    NESTED,
    [0] * 2_000,
)

TEXTS: tuple[str, ...] = (
    *(value for value in VALUES if isinstance(value, str) and len(value) < 6_000),
    *(str(2**31), str(2**64), "-1", "1e3", "+1", "0x10", "-0", "true", "a/b", "..", "\r\nX: y"),
)

BODIES: tuple[bytes, ...] = (
    b"",
    b" ",
    b"null",
    b"[]",
    b"[1]",
    b"7",
    b'"text"',
    b"{",
    b'{"a":1,}',
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"a": "\xff"}',
    b'{"id": 1, "id": "x", "id": null}',
    b'{"projectId": NaN, "name": "\\ud800"}',
    b'{"name": Infinity, "experimentIds": [18446744073709551616]}',
    b'{"a": 1e400}',
    b"[" * 100_000,
    b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    b'{"metrics": {"metrics": {"avgMetrics": ' + b'{"a":' * 300 + b"1" + b"}" * 303,
)


def as_json(value: Any) -> bytes:
    """JSON, with lone surrogates as escapes and with NaN and the infinities bare, as Python's own parser takes them."""
    return json.dumps(value, ensure_ascii=True, allow_nan=True).encode()

"""The messages of operations that have none of their own yet: what they are asked with, and what they answer.

`schemas.json` says it in short: a name with a question mark may be absent or null; types, ranges and lengths are
written as `kernel/kinds.py` reads them. `operations` and `schemas` are those of Determined; `ours` are operations that
Determined's clients do not know, and `path` the kinds of what stands in paths. Requests are read by these declarations
(`bodies.py`). `declarations.py` has them together with those of the operations that have messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from resolute.api.kernel import kinds

FILE = Path(__file__).with_name("schemas.json")


@cache
def _declared() -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return declared


@cache
def operations() -> Mapping[str, dict[str, Any]]:
    """By name: method and path, query, body and response, and whether the response is a stream of such."""
    return {**_declared()["operations"], **_declared()["ours"]}


def is_stream(operation: str) -> bool:
    return bool(operations().get(operation, {}).get("stream"))


def messages() -> Mapping[str, dict[str, Any]]:
    """By name: the fields of a message, or the values of an enum."""
    return _declared()["schemas"]


@cache
def path_kinds() -> Mapping[str, kinds.Kind]:
    """By name: the kind of a parameter in a path."""
    return {name: kinds.parse(text) for name, text in _declared()["path"].items()}

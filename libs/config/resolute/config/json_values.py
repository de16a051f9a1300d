"""Values that configurations carry without looking inside: whatever JSON, and the log's jsonb, can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .problems import Problems, join


def json_value(value: Any, path: str, problems: Problems) -> Any:
    """A copy of `value` with text for keys; what JSON cannot carry is reported and becomes null."""
    if isinstance(value, Mapping):
        return {text(str(k), path, problems): json_value(v, join(path, str(k)), problems) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, f"{path}[{i}]", problems) for i, item in enumerate(value)]
    if isinstance(value, str):
        return text(value, path, problems)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    problems.expected(path, "a value JSON can carry: text, a finite number, true, false, a list or an object", value)
    return None


def text(value: str, path: str, problems: Problems) -> str:
    """`value`, unless it holds what Postgres and UTF-8 refuse."""
    if "\0" in value or (not value.isascii() and not _is_utf8(value)):
        problems.expected(path, "text without NUL characters and lone surrogates", value)
        return ""
    return value


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

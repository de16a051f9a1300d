"""States as plain data: two that were grown in different ways can be held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from typing import Any

from resolute.scheduling.overlay import Order, Table


def plain(value: Any) -> Any:
    """What `value` holds, all the way down; what it is made of (drafts, caches, identities) does not count."""
    match value:
        case None | bool() | int() | float() | str() | bytes() | Enum() | type():
            return value
        case Random():
            return value.getstate()
        case Table():
            return sorted((plain(key), plain(item)) for key, item in value.items())
        case Order():
            return [plain(entry) for entry in value]
        case Mapping():
            return [(plain(key), plain(item)) for key, item in value.items()]
        case set() | frozenset():
            return sorted(map(repr, map(plain, value)))
        case list() | tuple():
            return [plain(item) for item in value]
    if is_dataclass(value):
        return type(value).__name__, [(each.name, plain(getattr(value, each.name))) for each in fields(value)]
    if type(value).__module__.startswith("resolute."):
        return type(value).__name__, [(name, plain(item)) for name, item in sorted(_attributes(value).items())]
    return repr(value)


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **getattr(value, "__dict__", {})}

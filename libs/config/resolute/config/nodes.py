"""The vocabulary in which a configuration's fields are described: what may stand there, and its default.

Every node reads a value a person wrote into its canonical form, reporting what is wrong (`read`), and
completes a canonical value with defaults (`fill`). Reading sets nothing that was not written, so layers
(YAML, template, cluster) can be read alone and merged before the defaults go in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from . import bounds
from .json_values import json_value, text
from .problems import Problems, join, nearest, quote

MOST_COMMON = 2**31 - 1
"""What a count may be where nothing else is said: the largest that every store of it holds."""
MOST_EXACT = 2**53
"""The largest whole number that every reader of JSON keeps exactly."""

OMIT: Any = object()
"""A default that leaves the key out of the merged configuration."""


class Node(Protocol):
    def read(self, value: Any, path: str, problems: Problems) -> Any:
        """The canonical form of `value`; what is wrong goes to `problems` and something harmless comes back."""

    def fill(self, value: Any) -> Any:
        """`value`, canonical, with every default below it put in."""


class Leaf:
    """A node with nothing below it to fill."""

    def fill(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class Text(Leaf):
    choices: tuple[str, ...] = ()
    remedies: Mapping[str, str] = field(default_factory=dict)  # value no longer accepted -> what to do
    longest: int = bounds.TEXT_CHARACTERS_MAX

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, str):
            problems.expected(path, "text", value, hint="Put it in quotes." if _is_plain(value) else "")
            return ""
        if len(value) > self.longest:
            problems.add(path, f"expected text of at most {self.longest:,} characters; found {len(value):,}.")
            return ""
        if value in self.remedies:
            problems.add(path, f"{value!r} is no longer supported. {self.remedies[value]}")
        elif self.choices and value not in self.choices:
            close = nearest(value, self.choices)
            hint = f"Did you mean {close!r}?" if close else ""
            problems.expected(path, f"one of {', '.join(self.choices)}", value, hint=hint)
        return text(value, path, problems)


@dataclass(frozen=True)
class Int(Leaf):
    least: int = -MOST_EXACT
    most: int = MOST_COMMON

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON knows one kind of number; 5.0 is what some writers make of 5
        if not isinstance(value, int) or isinstance(value, bool):
            problems.expected(path, "a whole number", value)
            return max(self.least, 0)
        if not self.least <= value <= self.most:
            problems.expected(path, f"a whole number {self._bounds(value)}", value)
        return min(max(value, self.least), self.most)

    def _bounds(self, value: int) -> str:
        if self.least != -MOST_EXACT and self.most not in (MOST_COMMON, MOST_EXACT):
            return f"from {self.least} to {self.most}"
        return f"of at least {self.least}" if value < self.least else f"of at most {self.most}"


@dataclass(frozen=True)
class Number(Leaf):
    above: float | None = None
    least: float | None = None
    most: float | None = None

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not is_number(value):
            problems.expected(path, "a number", value)
            return self._harmless
        if self.above is not None and value <= self.above:
            problems.expected(path, f"a number above {self.above:g}", value)
            return self._harmless
        if self.least is not None and value < self.least:
            problems.expected(path, f"a number of at least {self.least:g}", value)
            return self._harmless
        if self.most is not None and value > self.most:
            problems.expected(path, f"a number of at most {self.most:,}", value)
            return self._harmless
        return value

    @property
    def _harmless(self) -> float:
        return 1 if self.above is None and self.least is None else (self.above or 0) + (self.least or 0) + 1


@dataclass(frozen=True)
class Bool(Leaf):
    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, bool):
            problems.expected(path, "true or false", value)
            return False
        return value


@dataclass(frozen=True)
class Anything(Leaf):
    def read(self, value: Any, path: str, problems: Problems) -> Any:
        return json_value(value, path, problems)


@dataclass(frozen=True)
class FreeObject(Leaf):
    """An object whose inside belongs to someone else."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            problems.expected(path, "an object", value)
            return {}
        return json_value(value, path, problems)


@dataclass(frozen=True)
class ListOf:
    item: Node
    most: int = bounds.ITEMS_MAX

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, list | tuple):
            problems.expected(path, "a list", value, hint=f"Write [{value}]." if _is_plain(value) else "")
            return []
        if len(value) > self.most:
            problems.add(path, f"expected a list of at most {self.most:,} items; found {len(value):,}.")
            return []
        return [self.item.read(item, f"{path}[{i}]", problems) for i, item in enumerate(value)]

    def fill(self, value: Any) -> Any:
        return [self.item.fill(item) for item in value]


@dataclass(frozen=True)
class MapOf:
    item: Node

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            problems.expected(path, "an object", value)
            return {}
        items = ((text(str(k), path, problems), v) for k, v in value.items())
        return {k: self.item.read(v, join(path, k), problems) for k, v in items}

    def fill(self, value: Any) -> Any:
        return {key: self.item.fill(item) for key, item in value.items()}


class Status(Enum):
    CURRENT = "current"
    DEPRECATED = "deprecated"
    IGNORED = "ignored"


@dataclass(frozen=True)
class Field:
    """One field of an object: what may stand there, what stands there when nothing does, and for which kinds."""

    node: Node
    default: Any = None
    status: Status = Status.CURRENT
    kinds: frozenset[str] = frozenset()  # of the object's `kind_key`; empty means all


@dataclass(frozen=True)
class Object:
    """An object with known fields. `kind_key` names the field that tells its kinds apart, as `type` does."""

    fields: Mapping[str, Field]
    kind_key: str | None = None
    remedies: Mapping[str, str] = field(default_factory=dict)  # former field -> what to write today

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            problems.expected(path or "configuration", "an object", value)
            return {}
        kind = self._kind(value)
        read: dict[str, Any] = {}
        for key, inner in value.items():
            if inner is not None and self._accepts(key, kind, path, problems):
                read[key] = self.fields[key].node.read(inner, join(path, key), problems)
        return {k: v for k, v in read.items() if self.fields[k].status is not Status.IGNORED}

    def _kind(self, value: Mapping[str, Any]) -> str | None:
        """Which kind of object this is; None while that is unsaid or misspelt, and every field may stand."""
        kind = value.get(self.kind_key) if self.kind_key else None
        node = self.fields[self.kind_key].node if self.kind_key else None
        return kind if isinstance(node, Text) and kind in node.choices else None

    def _accepts(self, key: Any, kind: str | None, path: str, problems: Problems) -> bool:
        where = join(path, str(key))
        known = self.fields.get(key)
        if key in self.remedies:
            problems.add(where, f"this field is gone. {self.remedies[key]}")
        elif known is None:
            here = [k for k, f in self.fields.items() if _applies(f, kind) and f.status is Status.CURRENT]
            problems.unknown(path, str(key), here)
        elif not _applies(known, kind):
            kinds = ", ".join(sorted(known.kinds))
            text = f"does not apply when {join(path, str(self.kind_key))} is {quote(kind)}, only to {kinds}. Remove it."
            problems.add(where, text)
        elif known.status is not Status.CURRENT:
            effect = "is ignored" if known.status is Status.IGNORED else "is deprecated and still works"
            problems.warn(where, effect)
        return known is not None and _applies(known, kind)

    def fill(self, value: Any) -> Any:
        kind = self._kind(value)
        filled: dict[str, Any] = {}
        for key, known in self.fields.items():
            inner = value.get(key, known.default)
            if _applies(known, kind) and inner is not OMIT and known.status is not Status.IGNORED:
                filled[key] = None if inner is None else known.node.fill(deepcopy(inner))
        return filled


def is_number(value: Any) -> bool:
    """Whether `value` is a number that JSON can carry and a float can hold: true is not one, nor infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _applies(known: Field, kind: str | None) -> bool:
    return not known.kinds or kind is None or kind in known.kinds


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)

"""The problems of a configuration, gathered so that one refusal names all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from resolute.proto.errors import InvalidConfig

from . import bounds

_LONGEST_QUOTE = 60


@dataclass
class Problems:
    """Problems and warnings in the order met, each with the path of the field it is about.

    `places` maps the last part of known paths to the whole, so that the message for a field at the wrong depth
    (`slots_per_trial` at the top) can say where the field belongs.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)

    def add(self, path: str, text: str) -> None:
        """Report a problem, unless one at `path` or above it was reported: what follows from it is no news."""
        if not any(above in self.broken for above in _upwards(path)):
            self.broken.add(path)
            self.lines.append(f"{path}: {text}")
            if len(self.lines) >= bounds.PROBLEMS_MAX:
                self.lines.append(f"reading stopped after {bounds.PROBLEMS_MAX} problems; there may be more")
                self.raise_if_any()

    def expected(self, path: str, wanted: str, found: Any, *, hint: str = "") -> None:
        self.add(path, f"expected {wanted}; found {quote(found)}.{' ' + hint if hint else ''}")

    def warn(self, path: str, text: str) -> None:
        if len(self.warnings) < bounds.PROBLEMS_MAX:
            self.warnings.append(f"{path}: {text}")

    def unknown(self, path: str, key: str, known: Collection[str]) -> None:
        """Refuse the field `key` of the object at `path`, naming what was probably meant."""
        where = join(path, key)
        self.add(where, f"unknown field. {self._guess(key, known) or one_of(known)}")

    def _guess(self, key: str, known: Collection[str]) -> str:
        elsewhere = self.places.get(key)
        close = nearest(key, known)
        if close:
            return f"Did you mean {close!r}?"
        return f"Did you mean '{elsewhere}'?" if elsewhere else ""

    def none_at(self, path: str) -> bool:
        """Whether nothing was wrong at `path` or below it, so that what stands there can be reckoned with."""
        return not any(each == path or each.startswith((f"{path}.", f"{path}[")) for each in self.broken)

    def raise_if_any(self) -> None:
        if self.lines:
            raise InvalidConfig("\n".join(self.lines))


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]


def join(path: str, key: str) -> str:
    key = key if key.isprintable() else repr(key)  # a message has one line for each problem
    return f"{path}.{key}" if path else key


def nearest(word: str, choices: Collection[str]) -> str | None:
    """The choice a person most likely meant by `word`, if any is near enough to say so."""
    if len(word) > _LONGEST_QUOTE:
        return None  # comparing takes time that grows with the square of the length
    lowered = {choice.lower(): choice for choice in choices}
    close = get_close_matches(str(word).lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def one_of(choices: Collection[str]) -> str:
    return f"Known here: {', '.join(sorted(choices))}." if choices else "No fields are known here."


def quote(value: Any) -> str:
    """`value` as a message shows it: short, and telling text from numbers."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(join('', str(key)) for key in value) or 'no fields'}"[:_LONGEST_QUOTE]
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"

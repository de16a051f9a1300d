"""Training lengths: how far to train, in batches, records or epochs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .nodes import MOST_EXACT, Int, Leaf, is_number
from .problems import Problems, join, nearest

UNITS = ("batches", "records", "epochs")


@dataclass(frozen=True, slots=True)
class Length:
    """A cumulative total in one unit, so that "train to 200 batches" survives any restart."""

    unit: str
    value: int

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Length:
        """From the canonical form, `{"batches": 200}`."""
        ((unit, value),) = raw.items()
        return cls(unit, int(value))

    def to_batches(self, global_batch_size: int | None = None, records_per_epoch: int | None = None) -> int:
        """The same length in batches, rounded down but never to nothing; a batch is `global_batch_size` records.

        Raises ValueError, naming the missing hyperparameter or field, when the unit cannot be converted.
        """
        if self.unit == "batches" or self.value == 0:
            return self.value
        if not global_batch_size:
            raise ValueError(f"{self.unit} need hyperparameters.global_batch_size to be counted in batches")
        if self.unit == "records":
            return max(1, self.value // global_batch_size)
        if not records_per_epoch:
            raise ValueError("epochs need records_per_epoch to be counted in batches")
        return max(1, self.value * records_per_epoch // global_batch_size)


@dataclass(frozen=True)
class LengthNode(Leaf):
    """An object with exactly one of batches, records, epochs; a bare int means batches where `bare_int` says so."""

    least: int = 0
    bare_int: bool = False

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if is_number(value):
            return self._read_bare(value, path, problems)
        wanted = "an object with one of batches, records, epochs"
        if not isinstance(value, Mapping):
            problems.expected(path, wanted, value)
            return {"batches": self.least}
        unknown = [str(unit) for unit in value if unit not in UNITS]
        for unit in unknown:
            close = nearest(unit, UNITS) or ("batches" if "step" in unit else None)
            hint = f"Did you mean {close!r}?" if close else ""
            problems.expected(path, "one of batches, records, epochs", unit, hint=hint)
        given = {unit: value[unit] for unit in UNITS if value.get(unit) is not None}
        if not unknown and len(given) != 1:
            problems.expected(path, f"exactly one of {', '.join(UNITS)}", ", ".join(given) or None)
        return self._read_units(given, path, problems)

    def _read_bare(self, value: Any, path: str, problems: Problems) -> dict[str, int]:
        if not self.bare_int:
            hint = f"Write {{batches: {value}}}."
            problems.expected(path, "an object with one of batches, records, epochs", value, hint=hint)
            return {"batches": self.least}
        return {"batches": Int(self.least, MOST_EXACT).read(value, path, problems)}

    def _read_units(self, given: Mapping[str, Any], path: str, problems: Problems) -> dict[str, int]:
        read = {u: Int(self.least, MOST_EXACT).read(v, join(path, u), problems) for u, v in given.items()}
        return read if len(read) == 1 else {"batches": self.least}

"""`resources.slots_per_trial`: a number of slots, or a range of which a trial takes what there is room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .nodes import Field, Int, Leaf, Object
from .problems import Problems, join

_RANGE = Object({"min": Field(Int(1)), "max": Field(Int(1))})


class Slots(NamedTuple):
    least: int
    most: int


class SlotsNode(Leaf):
    """A range of one number is that number."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            return Int(0).read(value, path, problems)
        ends = _RANGE.fill(_RANGE.read(value, path, problems))
        for name in ("min", "max"):
            if ends[name] is None:
                problems.add(join(path, name), "missing. A range has both ends, as {min: 2, max: 4}.")
                ends[name] = 1
        least, most = ends["min"], ends["max"]
        if least > most:
            problems.expected(join(path, "min"), f"at most {join(path, 'max')} ({most})", least)
        return {"min": least, "max": most} if least < most else most


def slots_of(resources: Mapping[str, Any]) -> Slots:
    """The slots of merged `resources`; 1 where the configuration sets none."""
    asked = resources.get("slots_per_trial")
    if isinstance(asked, Mapping):
        return Slots(asked["min"], asked["max"])
    return Slots(1, 1) if asked is None else Slots(asked, asked)

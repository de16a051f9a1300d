"""A measured figure, with the bar it is held against, printed the same way by every bench."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.harness import save


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    value: float
    unit: str
    bar: float | None = None
    """What it must reach; None where it only stands beside another."""
    at_most: bool = False
    """Whether the bar is a ceiling: times and sizes, not rates."""

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def __str__(self) -> str:
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        bar = "" if self.bar is None else f"{'<=' if self.at_most else '>='} {self.bar:,g} {self.unit}"
        return f"{self.what:<62} {self.value:>12,.{_digits(self.value)}f} {self.unit:<10} {bar:<22} {verdict}"


def _digits(value: float) -> int:
    return 0 if abs(value) >= 100 else 2


def tell(name: str, figures: Sequence[Figure]) -> None:
    """Print them, and keep them under `name` for programs; the load says how busy the machine was with other things."""
    print(f"\n{name}")
    for figure in figures:
        print(figure, flush=True)
    document = [{**asdict(figure), "met": figure.met} for figure in figures]
    save(name, {"figures": document, "load_average_1min": os.getloadavg()[0]})

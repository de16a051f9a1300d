"""Which arrows of the lives' tables the tests have walked.

A table is only read: where an event is folded, by `FLOW[state, event]`. While arrows are noted each table is one that
remembers what it was asked for; nothing else changes, and outside of tests nothing does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import yaml

EXPLAINED = Path(__file__).with_name("unwalked.yaml")
"""Arrows that no test walks, each with the reason."""

WALKED: set[str] = set()
"""By the whole test run, the processes it started for stories included."""

OWNERS = ("resolute.search", "resolute.scheduling", "resolute.checkpoint", "resolute.directory", "resolute.tasks")
"""The packages that hold aggregates."""


@cache
def tables() -> tuple[ModuleType, ...]:
    """Every module with a `FLOW`, in the order of their names."""
    names = (
        module.name
        for owner in OWNERS
        for module in pkgutil.walk_packages(importlib.import_module(owner).__path__, f"{owner}.")
        if not module.name.endswith("__main__")
    )
    return tuple(module for module in map(importlib.import_module, sorted(names)) if "FLOW" in vars(module))


def all_arrows() -> set[str]:
    return {name_of(module, arrow) for module in tables() for arrow in module.FLOW}


def name_of(module: ModuleType, arrow: tuple[Any, ...]) -> str:
    """`trial: PAUSED -TrialEnded ERROR`."""
    state, event, *outcome = arrow
    return " ".join([f"{module.__name__.rpartition('.')[2]}: {state.name} -{event.__name__}", *map(str, outcome)])


class _Noting(dict[Any, Any]):
    """A table that notes the arrows walked."""

    def __init__(self, module: ModuleType, walked: set[str]) -> None:
        super().__init__(module.FLOW)
        self._names = {arrow: name_of(module, arrow) for arrow in module.FLOW}
        self._walked = walked

    def __getitem__(self, arrow: Any) -> Any:
        found = super().__getitem__(arrow)
        self._walked.add(self._names[arrow])
        return found


@contextmanager
def noted() -> Iterator[set[str]]:
    """The arrows walked from now on, by this process."""
    walked: set[str] = set()
    with ExitStack() as stack:
        for module in tables():
            stack.enter_context(mock.patch.object(module, "FLOW", _Noting(module, walked)))
        yield walked


def explained() -> Mapping[str, str]:
    told: dict[str, str] = yaml.safe_load(EXPLAINED.read_text()) or {}
    return told


def complaints() -> list[str]:
    """What is wrong with the arrows that were not walked, or with what is said of them."""
    known, reasons = all_arrows(), explained()
    missing = sorted(known - WALKED - reasons.keys())
    gone = sorted(reasons.keys() - known)
    return [
        *(f"no test walks: {arrow}" for arrow in missing),
        *(f"{EXPLAINED.name} explains what is not there: {arrow}" for arrow in gone),
        *(f"{EXPLAINED.name} gives no reason for: {arrow}" for arrow, reason in sorted(reasons.items()) if not reason),
    ]


def report() -> list[str]:
    known, reasons = all_arrows(), explained()
    left = sorted((known - WALKED) & reasons.keys())
    return [
        f"{len(known & WALKED)} of {len(known)} arrows were walked; of {len(left)} it is explained why they were not",
        *(f"  {arrow}: {reasons[arrow]}" for arrow in left),
        *complaints(),
    ]

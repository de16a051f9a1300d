"""Making a failing story smaller: `python -m tests.simulation.shrink 171` leaves out whatever it fails without.

Blows of fate, wishes, submissions, and kinds of weather are left out one by one, then again until nothing more can go
(delta debugging in its simplest form). Whatever still fails in the same way is the story; it is printed as it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from tests.simulation.cluster import Setup
from tests.simulation.scripts import Script, draw
from tests.simulation.stories import Broken, play
from tests.simulation.training import Temper

CALM = Setup()
GENTLE = Temper()
WEATHER = ("lose", "repeat", "detours", "unknown", "replicas", "snapshots_every", "delay_s")
TEMPER = tuple(each.name for each in fields(Temper))
_VARIES = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+")


def shrink(script: Script) -> tuple[Script, Broken | None]:
    """The smallest story found that fails as `script` does; None for one that does not fail."""
    broken = failure(script)
    if broken is None:
        return script, None
    wanted, smaller = _gist(broken), True
    while smaller:
        smaller = False
        for candidate in simpler(script):
            found = failure(candidate)
            if found is not None and _gist(found) == wanted:
                script, broken, smaller = candidate, found, True
                break
    return script, broken


def failure(script: Script) -> Broken | None:
    try:
        play(script)
    except Broken as broken:
        return broken
    return None


def _gist(broken: Broken) -> str:
    """What went wrong, whoever it went wrong for."""
    return _VARIES.sub("#", broken.kind)[:60]


def simpler(script: Script) -> Iterator[Script]:
    """`script` without one of its parts, the largest parts first."""
    for name in ("faults", "wishes"):
        for fewer in _fewer(getattr(script, name)):
            yield _with(script, name, fewer)
    if script.deleted:
        yield replace(script, deleted=False)
    if len(script.submissions) > 1 and not script.wishes:
        yield replace(script, submissions=script.submissions[:-1])
        yield replace(script, submissions=script.submissions[1:])
    for name in WEATHER:
        if getattr(script.setup, name) != getattr(CALM, name):
            yield replace(script, setup=_with(script.setup, name, getattr(CALM, name)))
    for name in TEMPER:
        if getattr(script.setup.temper, name) != getattr(GENTLE, name):
            temper = _with(script.setup.temper, name, getattr(GENTLE, name))
            yield replace(script, setup=replace(script.setup, temper=temper))


def _fewer(parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    half = len(parts) // 2
    if half:
        yield from ((), parts[half:], parts[:half])
    for at in range(len(parts)):
        yield parts[:at] + parts[at + 1 :]


def _with(whole: Any, name: str, part: Any) -> Any:
    return replace(whole, **{name: part})


def main(seeds: list[str]) -> None:
    for seed in map(int, seeds):
        script, broken = shrink(draw(seed))
        print(f"seed {seed} does not fail" if broken is None else f"{broken}\n\nthe script that is left:\n{script}")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # as it was when it failed
        command = [sys.executable, "-m", "tests.simulation.shrink", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})
    main(sys.argv[1:])

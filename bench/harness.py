"""What the benches share: measuring side by side, in turns, and keeping the outcome for programs."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")

Measure = Callable[[], Awaitable[float]]
"""Does the work once and answers the figure: a rate, or a time."""


async def in_turns(rounds: int, measures: Mapping[str, Measure]) -> dict[str, list[float]]:
    """Run each measure once a round, so that whatever else the machine does meets all of them alike."""
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            figures[name].append(await measure())
    return figures


async def rate(count: int, work: Awaitable[Any]) -> float:
    """How many of `count` things a second `work` got done."""
    began = time.perf_counter()
    await work
    return count / (time.perf_counter() - began)


def median(figures: Sequence[float]) -> float:
    return statistics.median(figures)


def percentile(figures: Sequence[float], percent: float) -> float:
    return sorted(figures)[min(int(len(figures) * percent / 100), len(figures) - 1)]


def machine() -> str:
    """The machine in a few words, for readers who compare figures."""
    model = "unknown processor"
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{os.cpu_count()} x {model}, {platform.system()}, Python {platform.python_version()}"


def save(name: str, figures: Mapping[str, Any]) -> None:
    """Keep the outcome in `bench/results/<name>.json`, with the machine and the moment."""
    RESULTS.mkdir(exist_ok=True)
    document = {"bench": name, "machine": machine(), "measured_at": datetime.now(UTC).isoformat(timespec="seconds")}
    (RESULTS / f"{name}.json").write_text(json.dumps({**document, **figures}, indent=2) + "\n")

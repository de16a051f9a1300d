"""The simulation's own speed: stories of many seeds, one after another and over all cores, with every promise checked.

Events a second say how fast whole clusters are tried; simulated hours a second, how much of their life that is.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

from bench.figures import Figure, tell
from tests.simulation.torture import Told, tell_all


def measure(seeds: range, jobs: int) -> tuple[Sequence[Told], float]:
    began = time.perf_counter()
    told = list(tell_all(seeds, jobs=jobs))
    return told, time.perf_counter() - began


def figures(name: str, told: Sequence[Told], spent_s: float) -> list[Figure]:
    events, simulated_s = sum(one.events for one in told), sum(one.simulated_s for one in told)
    return [
        Figure(f"{name}: stories", len(told) / spent_s, "stories/s"),
        Figure(f"{name}: events", events / spent_s, "events/s"),
        Figure(f"{name}: simulated time", simulated_s / spent_s / 3600, "hours/s"),
    ]


def main(stories: int) -> None:
    alone, alone_s = measure(range(stories), 1)
    together, together_s = measure(range(stories), os.cpu_count() or 1)
    failed = [one.seed for one in (*alone, *together) if one.failure]
    assert not failed, f"these seeds fail: {sorted(set(failed))}"
    tell(
        "simulation",
        [
            Figure("stories, each told twice", stories, "seeds"),
            *figures("one process", alone, alone_s),
            *figures(f"{os.cpu_count()} cores", together, together_s),
            Figure("300 stories as CI tells them", 300 * together_s / stories, "s", bar=120, at_most=True),
        ],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stories", type=int, default=100)
    main(parser.parse_args().stories)

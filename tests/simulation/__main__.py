"""`python -m tests.simulation SEED…`: tell the stories of these seeds, loudly, and how they end."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

from tests.simulation.stories import Broken, tell


def main(arguments: list[str]) -> None:
    """A range, `0..200`, is told quietly until one fails."""
    for argument in arguments or ["0"]:
        first, _, last = argument.partition("..")
        for seed in range(int(first), int(last or int(first) + 1)):
            _tell(seed, loud=not last)


def _tell(seed: int, loud: bool) -> None:
    began = time.perf_counter()
    try:
        ended = tell(seed, loud=loud)
    except Broken as broken:
        print(f"{broken}\nseed {seed} fails; made smaller by: make shrink SEED={seed}", file=sys.stderr)
        sys.exit(1)
    spent_s = time.perf_counter() - began
    print(f"seed {seed}: {ended.outcomes}, {len(ended.events)} events in {ended.took_s:.0f} s, told in {spent_s:.1f} s")
    if loud:
        kinds = Counter(type(recorded.event).__name__ for recorded in ended.events)
        print("\n".join(f"  {times:5} {kind}" for kind, times in kinds.most_common()))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of words have an order, and it must be the seed's too
        command = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})
    main(sys.argv[1:])

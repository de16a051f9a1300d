"""Tells the stories of the seeds it is given and prints a line of JSON for each: `torture` has many such at work."""

from __future__ import annotations

import json
import sys
import time

from tests import arrows
from tests.simulation.stories import tell


def main(seeds: list[str]) -> None:
    with arrows.noted() as walked:
        known: set[str] = set()
        for seed in map(int, seeds):
            said = _told(seed)
            fresh = walked - known
            known |= fresh
            print(json.dumps({"seed": seed, **said, "arrows": sorted(fresh)}), flush=True)


def _told(seed: int) -> dict[str, object]:
    began_s = time.perf_counter()
    try:
        ended = tell(seed)
    except Exception as error:  # noqa: BLE001  (told, as the outcome)
        return {"failure": f"{error}"[:6000] or repr(error), "took_s": time.perf_counter() - began_s}
    return {"events": len(ended.events), "simulated_s": ended.took_s, "took_s": time.perf_counter() - began_s}


if __name__ == "__main__":
    main(sys.argv[1:])

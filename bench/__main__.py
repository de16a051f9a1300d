"""Every bench, one after another: `python -m bench`, or `python -m bench ingest reads` for some of them.

Each runs in a process of its own, so that none warms another up; what they find lies in `bench/results/`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_BENCHES = {
    "__init__",
    "__main__",
    "embedded",
    "figures",
    "harness",
    "mlflow_peer",
    "one_gateway",
    "optuna_peer",
    "raw_http",
    "ray_peer",
    "ray_trials",
    "relayed_gateway",
    "report",
    "stage",
    "trial_story",
}
"""What the benches are made of."""


def benches() -> list[str]:
    return sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem not in NOT_BENCHES)


def main() -> int:
    known = benches()
    asked = sys.argv[1:] or known
    if unknown := [name for name in asked if name not in known]:
        print(f"no bench named {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in asked if subprocess.run([sys.executable, "-m", f"bench.{name}"]).returncode]
    if failed:
        print(f"did not finish: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

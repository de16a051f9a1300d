"""`python -m tests.attack SEED --blows N`: attack a cluster of its own, and say what was found."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.attack.story import Outcome, attack
from tests.integration.cluster.local import local_cluster


def main() -> int:
    """Exit code 1 where a promise was broken."""
    parser = argparse.ArgumentParser(prog="attack", description="Blows on a real cluster, drawn from a seed.")
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--blows", type=int, default=100, metavar="N", help="how many; 100 where not given")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON on the last line")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="resolute-attack-") as home:
        Path(home).chmod(0o755)
        with local_cluster(Path(home), separate=True, slots=2, agents=2) as cluster:
            outcome = attack(cluster, asked.seed, asked.blows, lambda line: print(line, flush=True))
            if outcome.faults:
                print(cluster.logs_of_services())
    print(json.dumps(asdict(outcome)) if asked.json else report(outcome))
    return 1 if outcome.faults else 0


def report(outcome: Outcome) -> str:
    dealt = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(outcome.dealt.items()))
    hostile = ", ".join(f"{count} times {kind}" for kind, count in sorted(outcome.hostile.items()))
    memory = ", ".join(f"{name} {mib}" for name, mib in outcome.most_mib.items())
    lines = [
        f"seed {outcome.seed}: {sum(outcome.dealt.values())} blows in {outcome.took_s:.0f} s ({dealt})",
        f"{outcome.experiments} searches of {outcome.trials} trials in all ended; "
        f"{outcome.acknowledged} requests acknowledged, {outcome.unanswered} to be asked again; "
        f"longest time without an answer {outcome.longest_silence_s:.1f} s",
        f"unkind neighbours sent meanwhile: {hostile}",
        f"most memory, MiB: {memory}",
        *(f"FAULT: {fault}" for fault in outcome.faults or ()),
        f"{len(outcome.faults)} faults" if outcome.faults else "nothing was lost, nothing doubled",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

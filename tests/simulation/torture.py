"""Many stories, over all cores: `python -m tests.simulation.torture 0..5000`, interrupted and gone on with at will.

Every seed is told in a process whose words are hashed alike, so that a set of them has the same order wherever the
story is told again. What has been told is noted line by line; the next call goes on behind it, unless the code has
changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

NOTES = Path(".resolute/torture.jsonl")
BLOCK = 25
"""Seeds told by one process."""
ROOT = Path(__file__).parents[2]
CODE = ("proto/resolute", "libs", "services", "tests/simulation")


@dataclass(frozen=True)
class Told:
    seed: int
    code: str
    """Of which code."""
    events: int = 0
    simulated_s: float = 0.0
    took_s: float = 0.0
    failure: str = ""
    arrows: list[str] = field(default_factory=list)
    """Walked for the first time by this process."""


def tell_all(seeds: Iterable[int], *, jobs: int = 0, code: str = "") -> Iterator[Told]:
    """As they come. What fails is told and does not stop the others."""
    wanted = list(seeds)
    blocks = [wanted[first : first + BLOCK] for first in range(0, len(wanted), BLOCK)]
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        for done in as_completed([pool.submit(_told_by_a_process, block, code) for block in blocks]):
            yield from done.result()


def _told_by_a_process(seeds: list[int], code: str) -> list[Told]:
    command = [sys.executable, "-m", "tests.simulation.teller", *map(str, seeds)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    told = [Told(**{**json.loads(line), "code": code}) for line in done.stdout.splitlines() if line.startswith("{")]
    missing = seeds[len(told) :]
    if missing:  # the process itself was stopped: by the story it was telling, and the rest is told by another one
        told.append(Told(missing[0], code, failure=f"the teller ended with {done.returncode}: {done.stderr[-2000:]}"))
        return told + (_told_by_a_process(missing[1:], code) if missing[1:] else [])
    return told


def code_digest() -> str:
    """Names the code that is tortured: what an older one was told of counts no more."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(prog="torture", description="Many simulated stories, over all cores.")
    parser.add_argument("seeds", nargs="?", default="0..2000", help="a range, 0..2000 where not given")
    parser.add_argument("--jobs", type=int, default=0, help="processes at once; 0: one for each core")
    parser.add_argument("--afresh", action="store_true", help="tell those again that were told already")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("..")
    code, began = code_digest(), time.monotonic()
    known = {} if asked.afresh else _noted(code)
    wanted = range(int(first), int(last or int(first) + 1))
    failed = [told for seed, told in known.items() if told.failure and seed in wanted]
    left = [seed for seed in wanted if seed not in known]
    print(f"{len(wanted) - len(left)} of {len(wanted)} were told before; {len(failed)} of them fail")
    NOTES.parent.mkdir(parents=True, exist_ok=True)
    told_now: list[Told] = []
    with NOTES.open("a") as notes:
        for told in tell_all(left, jobs=asked.jobs, code=code):
            notes.write(json.dumps(asdict(told)) + "\n")
            notes.flush()
            told_now.append(told)
            if told.failure:
                failed.append(told)
                print(f"seed {told.seed} fails: {told.failure.splitlines()[0][:300]}", flush=True)
    return _report(failed, told_now, time.monotonic() - began)


def _noted(code: str) -> dict[int, Told]:
    if not NOTES.exists():
        return {}
    lines = (Told(**json.loads(line)) for line in NOTES.read_text().splitlines() if line)
    return {told.seed: told for told in lines if told.code == code}


def _report(failed: list[Told], now: list[Told], spent_s: float) -> int:
    events, simulated_s = sum(told.events for told in now), sum(told.simulated_s for told in now)
    if now:
        print(
            f"{len(now)} stories, {events:,} events, {simulated_s / 3600:,.1f} simulated hours in {spent_s:.0f} s: "
            f"{events / spent_s:,.0f} events/s, {simulated_s / spent_s:,.0f} times as fast as life"
        )
    for told in sorted(failed, key=lambda told: told.seed):
        print(
            f"seed {told.seed} fails; told again by: make sim SEED={told.seed}; "
            f"made smaller by: make shrink SEED={told.seed}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

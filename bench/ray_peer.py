"""Ray Tune as a peer: in an environment of its own, given the same trials on the same two cores.

It is no dependency of anything: without a package index there is no peer, and the bench says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from bench.figures import Figure

HOME = Path(tempfile.gettempdir()) / "resolute-bench-ray"
SCRIPT = Path(__file__).with_name("ray_trials.py")

WORKS = {"no-op": ("no-op", 256), "asha, 20 ms steps": ("asha", 64)}
"""By name of a work of the bench: what Ray Tune runs for it, and how many trials."""


def installed() -> Path | None:
    """The python of Ray's environment; installs it the first time, and answers None where that cannot be done."""
    python = HOME / "bin" / "python"
    if (HOME / "bin" / "ray").exists():
        return python
    print("installing Ray Tune into an environment of its own …", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True, capture_output=True)
        pip = [str(HOME / "bin" / "pip"), "install", "-q", "ray[tune]"]
        subprocess.run(pip, check=True, capture_output=True, timeout=900)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"no peer: Ray Tune could not be installed ({error})", flush=True)
        return None
    return python


def figures(works: Collection[str]) -> list[Figure]:
    python = installed()
    result: list[Figure] = []
    for work in works if python is not None else ():
        if work not in WORKS:
            continue
        what, trials = WORKS[work]
        for reuse in (False, True):
            found = _run(str(python), what, trials, reuse)
            how = "actors reused" if reuse else "an actor a trial"
            result.append(Figure(f"Ray Tune {found['version']}: {work}, {how}", trials / found["seconds"], "trials/s"))
    return result


def _run(python: str, what: str, trials: int, reuse: bool) -> dict[str, float]:
    words = [python, str(SCRIPT), what, str(trials), "reuse" if reuse else "fresh"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*words, folder], capture_output=True, text=True, timeout=1800, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found

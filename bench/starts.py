"""How soon a trial's own code runs, and runs again: from a warm parent, in a container, and after a rank was killed.

Beside each stands what the same costs without us, in the same run: a cold `python -c "import torch"`, a bare
`docker run` of the same image, and a bare `torchrun` in a loop of the shell. (Its own `--max_restarts` is no peer: with
gloo the ranks of a second attempt look for each other at the addresses of the first, which the store still holds.)
`--only` names one of process, container, restart.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench import trial_story, trials
from bench.commands import login
from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell
from bench.harness import median
from bench.trial_story import Story
from bench.trials import RANDOM, Work
from resolute.deploy import postgres
from resolute.deploy.paths import ClusterPaths
from resolute.eventlog.postgres import PostgresEventLog

IMAGE = "python:3.11-slim-bookworm"
ROUNDS = 8
SAY = "import time; print('first line at', time.time(), flush=True)"

LAUNCH = "-m determined.launch.torch_distributed --"
RANK = """
import os, time
import torch.distributed as dist
dist.init_process_group("gloo")
for step in range(100_000):
    dist.barrier()
    if dist.get_rank() == 0:
        with open(os.environ["STEPS"], "a") as steps:
            print(time.time(), file=steps)
    time.sleep(0.01)
"""
"""Two ranks in step; the first writes down the instant of each."""


# ---------------------------------------------------------------- from a warm parent


async def process() -> list[Figure]:
    with embedded() as cluster, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)  # trials of a cluster of root run as users of their own
        cluster.up()
        token = await login(cluster.port)
        work = Work("torch", trials.MARK + "import torch\n", RANDOM, 24)
        await trials.run(cluster, token, work, Path(folder))  # its parent has torch from now on
        story, _ = await trials.run(cluster, token, work, Path(folder))
        warm = story.median_ms(*trial_story.FIRST_LINE)
    cold = median([_seconds([sys.executable, "-c", "import torch"]) for _ in range(ROUNDS)]) * 1000
    return [
        Figure("warm parent with torch: slots given -> first line", warm, "ms", 50, at_most=True),
        Figure('beside: a cold python -c "import torch"', cold, "ms"),
        Figure("as a part of that", warm / cold, "x"),
    ]


def _seconds(argv: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True)
    return time.perf_counter() - began


# ---------------------------------------------------------------- in a container


async def container() -> list[Figure]:
    with embedded() as cluster:
        cluster.up("--runtime", "docker")
        token = await login(cluster.port)
        contained, bare = [], []
        for _ in range(ROUNDS):
            contained.append(await _contained(cluster, token))
            bare.append(_bare_container())
    return [
        Figure("container: slots given -> first line of user code", median(contained), "ms"),
        Figure("beside: bare docker run -> first line, same image", median(bare), "ms"),
        Figure("container start against bare docker run", median(contained) / median(bare), "x"),
    ]


async def _contained(cluster: Embedded, token: str) -> float:
    """Milliseconds, of one trial."""
    experiment_id = await trials.submit(cluster, token, Work("contained", SAY, RANDOM, 1), environment={"image": IMAGE})
    await trials.ended(cluster, token, experiment_id, timeout_s=60)
    story = await _story(cluster, experiment_id)
    (run,) = story.runs.values()
    return (_first_line(cluster.det("trial", "logs", str(run.trial_id))) - run.at["given"]) * 1000


def _bare_container() -> float:
    began = time.time()
    done = subprocess.run(["docker", "run", "--rm", IMAGE, "python3", "-c", SAY], capture_output=True, text=True)
    return (_first_line(done.stdout) - began) * 1000


def _first_line(said: str) -> float:
    found = re.search(r"first line at ([\d.]+)", said)
    assert found is not None, said
    return float(found[1])


async def _story(cluster: Embedded, experiment_id: int) -> Story:
    log = await PostgresEventLog.open(postgres.url(ClusterPaths(cluster.data)), migrating=False)
    try:
        return trial_story.of_experiment(experiment_id, await log.read_all(0, 1_000_000))
    finally:
        await log.close()


# ---------------------------------------------------------------- after a rank was killed


async def restart() -> list[Figure]:
    """Twice with Resolute, which restarts the whole gang from the checkpoint, wherever there is room."""
    with tempfile.TemporaryDirectory() as folder:
        steps = Path(folder) / "steps"
        restarted = [await _killed_under_us(steps) for _ in range(2)]
        bare = [_killed_under_torchrun(Path(folder), steps) for _ in range(2)]
    return [
        Figure("a killed rank -> training again", median(restarted), "s"),
        Figure("beside: bare torchrun in a loop, one machine", median(bare), "s"),
    ]


async def _killed_under_us(steps: Path) -> float:
    with embedded() as cluster:
        cluster.up()
        token = await login(cluster.port)
        await trials.submit(
            cluster,
            token,
            Work("restart", RANK, RANDOM, 1),
            entrypoint=f"python3 {LAUNCH} python3 train.py",
            resources={"slots_per_trial": 2},
            environment={"environment_variables": [f"STEPS={steps}", "OMP_NUM_THREADS=1"]},
            max_restarts=1,
        )
        return await asyncio.to_thread(_kill_and_wait, steps)


def _killed_under_torchrun(folder: Path, steps: Path) -> float:
    script = folder / "train.py"
    script.write_text(RANK)
    torchrun = f"{sys.executable} -m torch.distributed.run --standalone --nproc_per_node=2 {script}"
    launcher = subprocess.Popen(
        ["sh", "-c", f"until {torchrun}; do :; done"],
        env={**os.environ, "STEPS": str(steps), "OMP_NUM_THREADS": "1"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _kill_and_wait(steps)
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()


def _kill_and_wait(steps: Path) -> float:
    """Seconds from the death of rank 1 to the next step."""
    steps.unlink(missing_ok=True)
    _until(lambda: len(_instants(steps)) > 20)
    victim = next(_ranks(steps, "1"))
    os.kill(victim, signal.SIGKILL)
    killed = time.time()
    # A step that was under way when the rank died is none of the next run.
    _until(lambda: [at for at in _instants(steps) if at > killed + 0.2])
    return next(at for at in _instants(steps) if at > killed + 0.2) - killed


def _instants(steps: Path) -> list[float]:
    return [float(line) for line in steps.read_text().splitlines()] if steps.exists() else []


def _ranks(steps: Path, rank: str) -> Iterator[int]:
    """The workers themselves, not what wraps them: by their variables, and by what they run."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            runs_it = any(word.endswith(b"train.py") for word in words[1:3])
            if runs_it and {f"RANK={rank}".encode(), f"STEPS={steps}".encode()} <= set(variables):
                yield int(entry.name)


def _until(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it takes longer than two minutes"
        time.sleep(0.01)


KINDS = {"process": process, "container": container, "restart": restart}


async def measure(kinds: list[str]) -> list[Figure]:
    return [figure for kind in kinds for figure in await KINDS[kind]()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=KINDS)
    tell("starts", uvloop.run(measure(parser.parse_args().only or list(KINDS))))


if __name__ == "__main__":
    main()

"""Short trials from end to end: how many a second, and where their time goes, hop by hop; beside Ray Tune.

On an embedded cluster of two slots, every trial in a process of its own, everything durable. `--only` names one work,
`--peer no` leaves Ray out.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvloop

from bench import ray_peer, trial_story
from bench.commands import ask, login
from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell
from bench.trial_story import Story
from resolute.deploy import postgres
from resolute.deploy.paths import ClusterPaths
from resolute.eventlog.postgres import PostgresEventLog

MARK = """
import os, time
now = time.time()
with open(os.path.join(os.environ["MARKS"], os.environ["DET_TRIAL_ID"]), "w") as mark:
    mark.write(repr(now))
"""

METRIC = """
import determined as det
with det.core.init() as core:
    core.train.report_validation_metrics(1, {"loss": 0.5})
"""

STEPS = """
import determined as det
import random, time
quality = random.random()
with det.core.init() as core:
    step = 0
    for operation in core.searcher.operations():
        while step < operation.length:
            time.sleep(0.02)
            step += 1
        core.train.report_validation_metrics(step, {"loss": quality / step})
        operation.report_completed(quality / step)
"""


@dataclass(frozen=True, slots=True)
class Work:
    """What is tried; `bar` is in trials a second."""

    name: str
    script: str
    searcher: Mapping[str, Any]
    trials: int
    bar: float | None = None


RANDOM = {"name": "random", "max_length": {"batches": 1}}
ASHA = {"name": "async_halving", "max_length": {"batches": 64}, "num_rungs": 3, "divisor": 4}

WORKS = (
    Work("no-op", MARK, RANDOM, 256, 30),
    Work("one metric", MARK + METRIC, RANDOM, 64),
    Work("asha, 20 ms steps", MARK + STEPS, ASHA, 64),
    Work("torch", MARK + "import torch\n", RANDOM, 64),  # last: from now on its parent has torch
)


async def run(cluster: Embedded, token: str, work: Work, marks: Path) -> tuple[Story, float]:
    """The story of the work, and the seconds from asking for it to its end."""
    _clear(marks)
    began = time.time()
    experiment_id = await submit(cluster, token, work, environment={"environment_variables": [f"MARKS={marks}"]})
    await ended(cluster, token, experiment_id, timeout_s=20 + work.trials * 2)
    log = await PostgresEventLog.open(postgres.url(ClusterPaths(cluster.data)), migrating=False)
    try:
        events = await log.read_all(0, 1_000_000)
    finally:
        await log.close()
    story = trial_story.of_experiment(experiment_id, events)
    for agent_log in (cluster.data / "logs").glob("*.log"):
        trial_story.add_agent(story, agent_log)
    trial_story.add_marks(story, _read(marks))
    assert story.state == "COMPLETED", f"{work.name}: {story.state}; {_complaint(cluster, story)}"
    return story, story.over - began


def _clear(marks: Path) -> None:
    for mark in marks.iterdir():
        mark.unlink()


def _read(marks: Path) -> dict[int, float]:
    return {int(mark.name): float(mark.read_text()) for mark in marks.iterdir()}


async def submit(cluster: Embedded, token: str, work: Work, **more: object) -> int:
    """`more` of the configuration; the experiment's id."""
    config = {
        "name": f"bench {work.name}",
        "entrypoint": "python3 train.py",
        "searcher": {**work.searcher, "metric": "loss", "max_trials": work.trials},
        "hyperparameters": {"x": {"type": "double", "minval": 0.0, "maxval": 1.0}},
        "max_restarts": 0,
        **more,
    }
    content = base64.b64encode(work.script.encode()).decode()
    file = {"path": "train.py", "type": 48, "content": content, "mode": 420}
    body = {"config": json.dumps(config), "modelDefinition": [file], "activate": True}
    answer = await ask(cluster.port, "POST", "/api/v1/experiments", body, token)
    experiment = answer["experiment"]
    assert isinstance(experiment, dict)
    return int(experiment["id"])


async def ended(cluster: Embedded, token: str, experiment_id: int, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        answer = await ask(cluster.port, "GET", f"/api/v1/experiments/{experiment_id}", token=token)
        experiment = answer["experiment"]
        assert isinstance(experiment, dict)
        if experiment.get("endTime"):
            return
        await asyncio.sleep(0.25)
    raise TimeoutError(f"experiment {experiment_id} did not end within {timeout_s:g} s")


def _complaint(cluster: Embedded, story: Story) -> str:
    return cluster.det("t", "logs", str(next(iter(story.runs.values())).trial_id))[-2000:]


def figures(work: Work, story: Story, seconds: float) -> list[Figure]:
    first_line = story.median_ms(*trial_story.FIRST_LINE)
    result = [
        Figure(f"{work.name}: {work.trials} trials", work.trials / seconds, "trials/s", work.bar),
        Figure(f"{work.name}: slots given -> first line of user code", first_line, "ms", 50, at_most=True),
    ]
    return result + [Figure(f"{work.name}: {what}", story.median_ms(a, b), "ms") for what, a, b in trial_story.HOPS]


async def measure(works: Sequence[Work], peer: bool) -> list[Figure]:
    found: list[Figure] = []
    with embedded() as cluster, tempfile.TemporaryDirectory() as folder:
        marks = Path(folder)
        os.chmod(folder, 0o1777)  # trials of a cluster of root run as users of their own
        cluster.up()
        token = await login(cluster.port)
        for work in works:
            await run(cluster, token, replace(work, trials=4), marks)  # pages cached, parents warm
            story, seconds = await run(cluster, token, work, marks)
            found += figures(work, story, seconds)
    return found + (ray_peer.figures([work.name for work in works]) if peer else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="WORK", help=", ".join(work.name for work in WORKS))
    parser.add_argument("--peer", choices=("yes", "no"), default="yes")
    arguments = parser.parse_args()
    works = [work for work in WORKS if not arguments.only or work.name in arguments.only]
    tell("trials", uvloop.run(measure(works, arguments.peer == "yes")))


if __name__ == "__main__":
    main()

"""How soon what a person starts is there: a command's end, a shell's prompt, a notebook; and a list of 500 tasks.

Beside each stands what the same costs without a cluster, in the same run: a bare process, a bare `docker run` of the
same image, a bare `jupyter lab`. `--only` names one of process, container, notebook, list.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from bench.commands import login
from bench.embedded import DET, Embedded, embedded
from bench.figures import Figure, tell
from bench.harness import median
from bench.raw_http import load, request
from bench.stage import gateway, servers
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.interactive import TaskCreated, TaskKind
from resolute.proto.message import Cause
from tests.ports import free_port

IMAGE = "python:3.11-slim-bookworm"
JUPYTER = "jupyterlab==4.6.6"
ROUNDS = 8
TASKS = 500
WITHOUT_SLOTS = ("--config", "resources.slots=0")
CONTAINED = ("--config", f"environment.image={IMAGE}")


def _seconds(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def _median_ms(what: Callable[[], object], rounds: int = ROUNDS) -> float:
    return median([_seconds(what) for _ in range(rounds)]) * 1000


def _command(cluster: Embedded, *config: str) -> None:
    cluster.det("cmd", "run", *WITHOUT_SLOTS, *config, "true")


def _shell(cluster: Embedded) -> None:
    """Start one, and see what the first command in its terminal prints."""
    environment = {**os.environ, "DET_USER": "determined", "DET_PASS": ""}
    words = (DET, "-m", f"http://127.0.0.1:{cluster.port}", "shell", "start", "--terminal", *WITHOUT_SLOTS)
    done = subprocess.run(words, env=environment, input=b"exit 7\n", capture_output=True, timeout=120)
    assert done.returncode == 7, done


def _bare(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


# ---------------------------------------------------------------- as processes


async def process() -> list[Figure]:
    with embedded() as cluster:
        cluster.up()
        cold = _seconds(lambda: _command(cluster)) * 1000
        warm = _median_ms(lambda: _command(cluster))
        shell = _median_ms(lambda: _shell(cluster))
        help_only = _median_ms(lambda: _bare(DET, "cmd", "run", "--help"))
    return [
        Figure("det cmd run true, the first one", cold, "ms"),
        Figure("det cmd run true", warm, "ms"),
        Figure("beside: det cmd run --help, which asks nobody", help_only, "ms"),
        Figure("det shell start -> a command in its terminal has run", shell, "ms"),
    ]


async def container() -> list[Figure]:
    with embedded() as cluster:
        cluster.up("--runtime", "docker")
        contained, bare = [], []
        for _ in range(ROUNDS):
            contained.append(_seconds(lambda: _command(cluster, *CONTAINED)) * 1000)
            bare.append(_seconds(lambda: _bare("docker", "run", "--rm", IMAGE, "true")) * 1000)
    return [
        Figure("det cmd run true in a container", median(contained), "ms"),
        Figure("beside: bare docker run true, same image", median(bare), "ms"),
        Figure("a command in a container against docker run", median(contained) / median(bare), "x"),
    ]


# ---------------------------------------------------------------- a notebook


@contextmanager
def _jupyter() -> Iterator[Path]:
    """A folder of programs with JupyterLab among them, where every user reaches it."""
    place = Path(tempfile.mkdtemp(prefix="resolute-jupyter-"))
    place.chmod(0o755)
    try:
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", JUPYTER], check=True)
        yield place / "bin"
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def notebook() -> list[Figure]:
    with _jupyter() as programs, embedded() as cluster:
        cluster.up()
        path = json.dumps([f"PATH={programs}:/usr/bin:/bin"])
        ours = partial(_notebook, cluster, f"environment.environment_variables={path}")
        bare = partial(_bare_jupyter, programs)
        ours()
        bare()
        ready, beside = _median_ms(ours, 4), _median_ms(bare, 4)
    return [
        Figure("det notebook start -> ready", ready, "ms"),
        Figure("beside: bare jupyter lab -> it answers", beside, "ms"),
        Figure("a notebook against jupyter lab", ready / beside, "x"),
    ]


def _notebook(cluster: Embedded, config: str) -> None:
    said = cluster.det("notebook", "start", "--no-browser", *WITHOUT_SLOTS, "--config", config)
    cluster.det("notebook", "kill", said.partition("(id: ")[2].partition(",")[0])


def _bare_jupyter(programs: Path) -> None:
    port = free_port()
    words = (programs / "jupyter-lab", "--no-browser", "--allow-root", f"--ServerApp.port={port}")
    started = subprocess.Popen([*words, "--ServerApp.token=t"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://localhost:{port}/api?token=t", timeout=5).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise TimeoutError("jupyter lab did not answer within 60 s")
    finally:
        started.kill()
        started.wait()


# ---------------------------------------------------------------- a list


async def listed() -> list[Figure]:
    with servers() as (postgres, nats):
        dsn = postgres.fresh_database()
        log = await PostgresEventLog.open(dsn)
        for number in range(TASKS):
            task_id = str(uuid.UUID(int=number))
            await log.append(f"task-{task_id}", [_created(task_id)], expected_version=0, cause=Cause(f"t-{number}"))
        await log.close()
        with gateway(dsn, nats.url) as served:
            token = await login(served.port)
            figures = []
            for what, path in (("all", "commands"), ("a page of 50", "commands?limit=50&sortBy=SORT_BY_START_TIME")):
                asked = partial(_asking, f"/api/v1/{path}", token)
                reads = await load("127.0.0.1", served.port, asked, connections=1, seconds=3, warm_s=0.5)
                figures.append(Figure(f"{TASKS} tasks, {what}: p95", reads.percentile_ms(95), "ms"))
            return figures


def _created(task_id: str) -> TaskCreated:
    config = {"entrypoint": ["sleep", "600"], "resources": {"slots": 1}, "environment": {}}
    fixed = {"owner_id": 2, "owner": "determined", "workspace_id": 1, "pool": "default", "slots": 1, "priority": 42}
    return TaskCreated(task_id, TaskKind.COMMAND, f"{task_id}.1", "Command (a-b-c)", config, **fixed, weight=1.0)  # type: ignore[arg-type]


def _asking(path: str, token: str, _: int) -> Iterator[bytes]:
    return itertools.repeat(request("GET", path, token))


PARTS = {"process": process, "container": container, "notebook": notebook, "list": listed}


def main(arguments: Sequence[str] = tuple(sys.argv[1:])) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(PARTS))
    only = parser.parse_args(arguments).only
    figures = [figure for name, part in PARTS.items() if only in (None, name) for figure in uvloop.run(part())]
    tell("interactive" if only is None else f"interactive_{only}", figures)


if __name__ == "__main__":
    main()

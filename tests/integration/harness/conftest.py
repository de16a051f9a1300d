"""Tasks as real processes, beside the small master of the unit tests."""

from __future__ import annotations

import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_UNIT = pathlib.Path(__file__).parents[2] / "unit" / "harness" / "conftest.py"
_spec = importlib.util.spec_from_file_location("harness_master", _UNIT)
assert _spec is not None
assert _spec.loader is not None
harness_master: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(harness_master)

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


@pytest.fixture
def master() -> Iterator[Any]:
    server = harness_master.Master()
    server.start()
    yield server
    server.stop()


class Task:
    """The process of a task, started as an agent starts it."""

    def __init__(self, env: dict[str, str], folder: pathlib.Path) -> None:
        self.env = env
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "determined.exec.prep", *words]
        self.process = subprocess.Popen(
            command,
            env=self.env,
            cwd=self.env["DET_WORKDIR"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self.process

    def run(self, *words: str, within_s: float = 240) -> tuple[int, str]:
        """Exit code and everything printed."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=within_s)
        return process.returncode, output


@pytest.fixture
def task(master: Any, tmp_path: pathlib.Path) -> Iterator[Callable[..., Task]]:
    started: list[Task] = []

    def make(config: dict[str, Any] | None = None, **variables: str) -> Task:
        # As an agent does: nothing of the surroundings but where programs are.
        path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        around = {"PATH": path, "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
        env = {**around, **harness_master.trial_env(master, tmp_path, config), **variables}
        started.append(Task(env, tmp_path))
        return started[-1]

    yield make
    for one in started:
        if one.process is not None and one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def tgz() -> Callable[..., bytes]:
    made: Callable[..., bytes] = harness_master.tgz
    return made


@pytest.fixture
def until() -> Callable[..., None]:
    waiting: Callable[..., None] = harness_master.until
    return waiting


@pytest.fixture
def example() -> Callable[[str], bytes]:
    def pack(name: str) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            tar.add(EXAMPLES / name, arcname=".")
        return buffer.getvalue()

    return pack

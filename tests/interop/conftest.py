"""The unmodified public client in an environment of its own, and a cluster for it to drive.

RESOLUTE_INTEROP_VENV names an environment that has the client; without it one is made under build/.
RESOLUTE_INTEROP_MASTER names a running cluster; without it one is started for the session.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port

CLIENT = "determined==0.38.1"
JUPYTER = "jupyterlab==4.6.6"
REPOSITORY = Path(__file__).parents[2]
MODEL = Path(__file__).parent / "model"
ENDED = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def client_environment() -> Path:
    """A virtual environment with the public client, made once and kept."""
    if given := os.environ.get("RESOLUTE_INTEROP_VENV"):
        return Path(given)
    place = REPOSITORY / "build" / "interop-venv"
    if not (place / "bin" / "det").exists():
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", CLIENT], check=True)
    return place


@pytest.fixture(scope="session")
def jupyter_environment() -> Iterator[Path]:
    """A virtual environment with JupyterLab, as an image for notebooks has it.

    It is not under build/: as root, tasks run as users of their own, who may not reach the repository.
    """
    place = Path(tempfile.mkdtemp(prefix="resolute-jupyter-"))
    place.chmod(0o755)
    try:
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", JUPYTER], check=True)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a cluster with one agent of one slot."""
    if given := os.environ.get("RESOLUTE_INTEROP_MASTER"):
        yield given
        return
    port = free_port()
    home = Path(tempfile.mkdtemp(prefix="resolute-interop-"))
    home.chmod(0o755)  # as root, the cluster's Postgres is someone else
    named = ["--cluster-name", f"interop-{port}", "--data-dir", str(home / "data")]
    ours = [str(Path(sys.executable).parent / "det"), "deploy", "local"]
    try:
        subprocess.run(
            [*ours, "cluster-up", *named, "--master-port", str(port), "--slots", "1", "--no-gpu"],
            env={
                **os.environ,
                "RESOLUTE_DIRECTORY_WEBHOOKS": '{"allowed_networks": ["127.0.0.1"]}',
                "RESOLUTE_API_AUTHZ": '{"rbac_ui_enabled": true}',
            },
            check=True,
        )
        yield f"http://localhost:{port}"
    finally:
        subprocess.run([*ours, "cluster-down", *named, "--delete-db"], check=False)
        shutil.rmtree(home, ignore_errors=True)


@dataclass
class PublicClient:
    """The public client's command line and SDK, as one user on one machine would run them."""

    environment: Path
    master: str
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `det` with these words and return what became of it, without judging."""
        return self._call([str(self.environment / "bin" / "det"), *words], variables)

    def det(self, *words: str, **variables: str) -> str:
        """Run `det` with these words, expect success, return its standard output."""
        return successful(self.run(*words, **variables))

    def python(self, script: str) -> str:
        """Run a script that finds the SDK's `client` imported and logged in."""
        opening = (
            "from determined.experimental import client\n"
            f"client.login(master={self.master!r}, user='determined', password='')\n"
        )
        return successful(self._call([str(self.environment / "bin" / "python"), "-c", opening + script], {}))

    def experiment(self, experiment_id: int) -> dict[str, Any]:
        described = json.loads(self.det("experiment", "describe", str(experiment_id), "--json"))
        found: dict[str, Any] = described[0]["experiment"]
        return found

    def submit(self, *options: str) -> int:
        out = self.det("experiment", "create", str(MODEL / "short.yaml"), str(MODEL), *options)
        return int(out.split("Created experiment ")[1].split()[0])

    def until(self, experiment_id: int, reached: Callable[[str], bool], within_s: float = 90) -> str:
        """Look at the experiment's state until it is one we wait for."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            state = str(self.experiment(experiment_id)["state"])
            if reached(state):
                return state
            time.sleep(0.3)
        log = self.run("experiment", "logs", str(experiment_id)).stdout
        raise AssertionError(f"experiment {experiment_id} stayed {state} for {within_s} s; its log:\n{log}")

    def _call(self, command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return subprocess.run(
            command,
            env={
                **kept,
                "DET_MASTER": self.master,
                "XDG_CONFIG_HOME": str(self.home),
                **self.variables,
                **variables,
            },
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )


def successful(ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 0, f"{ended.args} ended with {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture
def public(client_environment: Path, cluster: str, tmp_path: Path) -> PublicClient:
    """The public client with an empty home."""
    return PublicClient(client_environment, cluster, tmp_path)


@pytest.fixture(scope="session")
def finished(client_environment: Path, cluster: str, tmp_path_factory: pytest.TempPathFactory) -> int:
    """An experiment that the public client submitted and that has completed."""
    client = PublicClient(client_environment, cluster, tmp_path_factory.mktemp("home"))
    experiment_id = client.submit()
    assert client.until(experiment_id, lambda state: state in ENDED) == "STATE_COMPLETED"
    return experiment_id

"""A person's work in a shell goes on, whichever process of the cluster is killed meanwhile; `det` connects again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until

VICTIMS = ("tasks", "api", "agent-1", "nats")
DET = "import sys; from resolute.cli.main import det; sys.argv[0] = 'det'; sys.exit(det())"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("shells"), separate=True, slots=1, agents=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def shell(cluster: LocalCluster) -> str:
    return cluster.det("shell", "start", "-d").strip().splitlines()[-1]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that a task may write to, whoever it runs as."""
    with tempfile.TemporaryDirectory(prefix="resolute-shells-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", VICTIMS)
def test_what_was_typed_runs_to_its_end_and_its_status_is_that_of_det(
    cluster: LocalCluster, shell: str, shared: Path, victim: str
) -> None:
    go_on, began = shared / "go on", shared / "began"
    line = f'touch "{began}"; while [ ! -e "{go_on}" ]; do sleep 0.1; done; echo fin""ished; exit 7\n'
    keyboard, typing = os.pipe()
    words = (sys.executable, "-c", DET, "shell", "open", "--session", victim, shell)
    with subprocess.Popen(
        words, env=cluster.env, stdin=keyboard, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as opened:
        os.close(keyboard)
        os.write(typing, line.encode())
        until("what was typed runs", began.exists)
        cluster.kill(victim)
        go_on.touch()
        printed, _ = opened.communicate(timeout=300)
    os.close(typing)
    assert opened.returncode == 7, printed
    assert "finished" in printed, printed

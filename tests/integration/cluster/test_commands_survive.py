"""A command runs on, whichever process of the cluster is killed meanwhile, and its exit status is the same."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until

VICTIMS = ("tasks", "api", "agent-1", "scheduler", "nats")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("commands"), separate=True, slots=1, agents=1) as cluster:
        yield cluster


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that a task may write to, whoever it runs as."""
    with tempfile.TemporaryDirectory(prefix="resolute-commands-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_command_ends_with_its_own_status_whoever_is_killed(cluster: LocalCluster, shared: Path, victim: str) -> None:
    go_on, began = shared / "go on", shared / "began"
    line = f'touch "{began}"; while [ ! -e "{go_on}" ]; do sleep 0.1; done; echo the end; exit 7'
    entry = "import sys; from resolute.cli.main import det; sys.argv[0] = 'det'; sys.exit(det())"
    words = (sys.executable, "-c", entry, "cmd", "run", line)
    with subprocess.Popen(
        words, env=cluster.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as followed:
        until("the command runs", began.exists)
        cluster.kill(victim)
        go_on.touch()
        printed, _ = followed.communicate(timeout=300)
    assert followed.returncode == 7, printed
    assert printed.count("the end") == 1, printed

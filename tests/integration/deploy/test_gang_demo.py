"""`make gang-demo` from its beginning to its last line, with a shorter training."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs
from tests.integration.cluster.local import ROOT


@needs.docker
@pytest.mark.timeout(900)
def test_four_ranks_in_two_containers_end_with_what_they_learnt_as_the_last_line(tmp_path: Path) -> None:
    example = tmp_path / "example"
    shutil.copytree(ROOT / "examples" / "mnist_pytorch", example, ignore=shutil.ignore_patterns("__pycache__"))
    config = (example / "distributed.yaml").read_text()
    (example / "short.yaml").write_text(re.sub(r"max_length:\n\s+batches: \d+", "max_length: {batches: 40}", config))
    command = [sys.executable, "-m", "resolute.deploy.gang_demo", "--down", "--config", "short.yaml"]
    done = subprocess.run(
        [*command, "--data-dir", str(tmp_path / "cluster"), "--example", str(example)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=ROOT,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    last = done.stdout.splitlines()[-1]
    assert "is completed: 4 Horovod ranks in 2 containers on 2 agents: " in last, told
    assert re.search(r"validation_loss \d\.\d+ after 40 batches", last), told
    assert re.search(r"agent-1 .* 0, 1 ", told), told
    assert re.search(r"agent-2 .* 2, 3 ", told), told


def test_without_a_docker_that_answers_it_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "resolute.deploy.gang_demo", "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert "no Docker daemon answers" in done.stderr
    assert "`make docker`" in done.stderr

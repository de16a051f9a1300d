"""Shells in containers: by ssh where the image has sshd, and in the terminal of the shell where it has none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests import needs
from tests.integration.cluster.local import LocalCluster
from tests.integration.docker.hosts import IMAGE, Host

pytestmark = [needs.docker, needs.sshd, pytest.mark.timeout(900)]

Site = tuple[LocalCluster, Host]

WITH_SSHD = "resolute/test-sshd"
DET = "import sys; from resolute.cli.main import det; sys.argv[0] = 'det'; sys.exit(det())"


@pytest.fixture(scope="module")
def image_with_sshd() -> str:
    recipe = (
        f"FROM {IMAGE}\n"
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends openssh-server > /dev/null\n"
        "RUN usermod --lock root\n"
    )
    subprocess.run(["docker", "build", "-q", "-t", WITH_SSHD, "-"], input=recipe.encode(), check=True, timeout=600)
    return WITH_SSHD


@contextmanager
def shell(cluster: LocalCluster, **environment: object) -> Iterator[str]:
    """A shell that runs in a container. Yields its ID."""
    config = ("--config", "resources.slots=0", "--config", f"environment={json.dumps(environment)}")
    shell_id = cluster.det("shell", "start", "-d", *config).strip().splitlines()[-1]
    try:
        yield shell_id
    finally:
        cluster.det("shell", "kill", shell_id)


def det(cluster: LocalCluster, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", DET, *words],
        env=cluster.env,
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_ssh_enters_a_container_whose_image_has_sshd_even_where_root_is_locked(
    site: Site, image_with_sshd: str
) -> None:
    cluster, _ = site
    with shell(cluster, image=image_with_sshd, environment_variables=["CHOSEN=yes"]) as shell_id:
        entered = det(cluster, "shell", "open", shell_id, "--", "id -un; echo $CHOSEN; pwd; hostname; exit 7")
        assert entered.returncode == 7, entered.stdout + entered.stderr + cluster.det("shell", "logs", shell_id)
        assert entered.stdout.replace("\r", "").splitlines()[1:4] == ["root", "yes", "/root"]


def test_a_bare_image_has_a_terminal_that_keeps_what_runs_in_it(site: Site) -> None:
    cluster, _ = site
    with shell(cluster, image=IMAGE) as shell_id:
        entered = det(cluster, "shell", "open", shell_id, typed="echo in $((6*7)) $(pwd)\nexit 7\n")
        assert entered.returncode == 7, entered.stdout + entered.stderr + cluster.det("shell", "logs", shell_id)
        assert "in 42 /run/determined/workdir" in entered.stdout
        refused = det(cluster, "shell", "open", shell_id, "--", "true")
        assert refused.returncode == 1
        assert "no sshd" in refused.stderr
        assert "sshd is not installed here" in cluster.det("shell", "logs", shell_id)

"""A hostile trial on a cluster of processes: what it gets of the cluster's secrets, and of another owner's trial."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resolute.deploy import cluster, processes, system_users
from tests.integration.deploy.test_embedded_cluster import Local
from tests.servers import POSTGRES_USER, wait_for

pytestmark = pytest.mark.timeout(900)

NAMESPACES = (
    subprocess.run(
        ["unshare", "--user", "--mount", "true"],
        capture_output=True,
        check=False,
        cwd="/",
        user=65534 if os.geteuid() == 0 else None,
    ).returncode
    == 0
)
"""Whether every user may have a user namespace here."""
ATTACK = Path(__file__).with_name("hostile_trial.py")
VICTIM = """
import os, pathlib, time
pathlib.Path(os.environ["FOUND"], "victim").write_text(f"{os.getpid()} {os.environ['DET_RUN_DIR']}")
time.sleep(600)
"""
CONFIG = """
name: {name}
entrypoint: python3 {script}
environment: {{environment_variables: ["FOUND={found}", "DATA={data}", "SOCKETS={sockets}", "GATEWAY_PORT={port}"]}}
hyperparameters: {{}}
max_restarts: 0
checkpoint_storage: {{type: shared_fs, host_path: {storage}}}
searcher: {{name: single, metric: loss, max_length: {{batches: 1}}}}
"""


AS_ANOTHER = """
import os, pwd, sys
from resolute.agent import isolation, mount_namespace, process_settings
needed = [*isolation._needed(process_settings.ProcessSettings()), sys.argv[2]]
if closed := mount_namespace.closed(needed):
    mount_namespace.enter(closed, needed)
user = pwd.getpwnam(sys.argv[1])
os.setgroups([])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
os.chdir("/")
os.execv(sys.argv[3], sys.argv[3:])
"""
"""An ordinary user, for whom the interpreter, which may lie in root's home, is brought into reach."""


class Attacked(Local):
    """A cluster on which a victim's trial runs, and then an attacker's, of another user."""

    def __init__(self) -> None:
        super().__init__()
        self.found = self.folder / "found"
        self.found.mkdir()
        self.found.chmod(0o777)

    def begin(self, *words: str, **env: str) -> str:
        done = self.up("--agents", "1", "--slots", "2", *words, **env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def sockets(self) -> Path:
        return self.paths.socket_dir

    def submit(self, user: str, script: str) -> None:
        context = self.folder / user
        context.mkdir()
        (context / "trial.py").write_text(script)
        config = CONFIG.format(
            name=user, script="trial.py", found=self.found, data=self.paths.root, sockets=self.sockets,
            port=self.port, storage=self.paths.storage,
        )  # fmt: skip
        (self.folder / f"{user}.yaml").write_text(config)
        det = [str(Path(sys.executable).parent / "det"), "-m", f"http://127.0.0.1:{self.port}"]
        subprocess.run(
            [*det, "experiment", "create", str(self.folder / f"{user}.yaml"), str(context)],
            check=True, timeout=300, env={**self.env, "DET_USER": user, "DET_PASS": ""},
        )  # fmt: skip

    def pids(self) -> set[str]:
        """Of the cluster's own processes."""
        supervisor = processes.supervisor_pid(self.paths)
        return {str(status.pid) for status in processes.statuses(self.paths)} | {str(supervisor)}

    def attack(self) -> dict[str, Any]:
        """What the attacker found, while the victim ran."""
        self.submit("admin", VICTIM)
        wait_for((self.found / "victim").exists, what="the victim", within_s=180)
        self.submit("determined", ATTACK.read_text())
        wait_for((self.found / "attack.json").exists, what="the attack", within_s=180)
        found = json.loads((self.found / "attack.json").read_text())
        assert isinstance(found, dict)
        return found


class AttackedOfAUser(Attacked):
    """The same, of a user without rights."""

    def __init__(self) -> None:
        super().__init__()
        if POSTGRES_USER is not None:
            system_users.ensure(POSTGRES_USER)
            shutil.chown(self.folder, POSTGRES_USER, POSTGRES_USER)

    @property
    def sockets(self) -> Path:
        return self.paths.run

    def det(self, command: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        words = ["deploy", "local", command, "--cluster-name", "test", "--data-dir", str(self.paths.root), *args]
        det = str(Path(sys.executable).parent / "det")
        whole = [det, *words]
        if POSTGRES_USER is not None:
            whole = [sys.executable, "-c", AS_ANOTHER, POSTGRES_USER, str(self.folder), *whole]
        return subprocess.run(
            whole, capture_output=True, text=True, timeout=300, check=False, env={**self.env, **env}
        )  # fmt: skip


@pytest.fixture
def of_a_user() -> Iterator[AttackedOfAUser]:
    local = AttackedOfAUser()
    yield local
    local.close()


@pytest.fixture
def attacked() -> Iterator[Attacked]:
    local = Attacked()
    yield local
    local.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run trials as other users")
def test_a_trial_of_a_cluster_of_root_gets_nothing_of_the_cluster_or_of_anothers_trial(attacked: Attacked) -> None:
    said = attacked.begin()
    assert "each owner's trials run as a user of their own" in said
    found = attacked.attack()
    assert found["uid"] != 0
    assert {name: found[name] for name in ("secrets", "environments", "opened", "ended", "postgres", "checkpoint")} == {
        "secrets": [], "environments": [], "opened": [], "ended": [], "postgres": "", "checkpoint": "written"
    }  # fmt: skip
    owner = (attacked.paths.storage / "mine").stat().st_uid
    assert owner == found["uid"]


@pytest.mark.skipif(os.geteuid() != 0, reason="it needs a directory that others cannot enter, and their user")
def test_trials_are_kept_apart_below_a_directory_that_others_cannot_enter(attacked: Attacked) -> None:
    attacked.folder.chmod(0o700)
    shutil.rmtree(attacked.found)
    attacked.found = Path("/tmp") / attacked.folder.name.replace("deploy", "found")
    attacked.found.mkdir()
    attacked.found.chmod(0o777)
    try:
        assert "each owner's trials run as a user of their own" in attacked.begin()
        found = attacked.attack()
        assert (found["secrets"], found["environments"], found["opened"], found["ended"]) == ([], [], [], [])
        assert found["checkpoint"] == "written"
    finally:
        shutil.rmtree(attacked.found)


@pytest.mark.skipif(not NAMESPACES, reason="this host gives user namespaces to root alone")
def test_a_trial_of_a_cluster_of_an_ordinary_user_finds_no_secret_of_the_cluster(of_a_user: AttackedOfAUser) -> None:
    said = of_a_user.begin()
    assert "WARNING: trials of all owners run as this user: the cluster's secrets and database are hidden" in said
    found = of_a_user.attack()
    assert (found["secrets"], found["postgres"], found["checkpoint"]) == ([], "", "written")
    assert not set(found["environments"]) & of_a_user.pids()


def test_a_cluster_that_does_not_keep_trials_apart_says_so_loudly(attacked: Attacked) -> None:
    said = attacked.begin(RESOLUTE_AGENT_ISOLATION="false")
    assert "WARNING: trials are not kept apart" in said
    log = (attacked.paths.logs / "agent-1.log").read_text()
    assert "trials are not kept apart" in log
    known = cluster.load(attacked.paths)
    assert known is not None

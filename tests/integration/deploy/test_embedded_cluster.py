"""An embedded cluster as a person has it: up, killed in pieces, down, up again, and every refusal on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pytest

from resolute.cli.errors import CliError
from resolute.cli.session import Session
from resolute.deploy import cluster, processes
from resolute.deploy.paths import ClusterPaths
from tests.integration.deploy import dashboard
from tests.ports import free_port
from tests.servers import wait_for

pytestmark = pytest.mark.timeout(600)


class Local:
    """`det deploy local`, on a directory and a port of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="resolute-deploy-"))
        self.folder.chmod(0o755)  # as root, Postgres is someone else and has to get in
        self.paths = ClusterPaths(self.folder / "data")
        self.port = free_port()
        self.env = {**os.environ, "HOME": str(self.folder / "home")}

    def det(self, command: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        words = ["deploy", "local", command, "--cluster-name", "test", "--data-dir", str(self.paths.root), *args]
        det = str(Path(sys.executable).parent / "det")
        return subprocess.run(
            [det, *words], capture_output=True, text=True, timeout=300, check=False, env={**self.env, **env}
        )

    def up(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        agents = () if "--agents" in args else ("--agents", "0")
        return self.det("cluster-up", "--master-port", str(self.port), *agents, *args, **env)

    def experiment(self, *words: str) -> str:
        """What `det experiment …` prints."""
        det = [str(Path(sys.executable).parent / "det"), "-m", f"http://127.0.0.1:{self.port}", "-u", "determined"]
        done = subprocess.run(
            [*det, "experiment", *words], capture_output=True, text=True, timeout=300, check=False, env=self.env
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill_supervisor(self) -> None:
        """Whatever it looked after is then left behind."""
        supervisor = processes.supervisor_pid(self.paths)
        assert supervisor is not None
        os.kill(supervisor, signal.SIGKILL)
        wait_for(lambda: processes.supervisor_pid(self.paths) is None, what="the end of the supervisor")

    def whose_turn(self) -> str:
        """The command that is, or was last, changing the cluster; empty when there is none."""
        try:
            return self.paths.command_lock.read_text()
        except FileNotFoundError:
            return ""

    def pid(self, name: str) -> int:
        return next((status.pid or 0 for status in processes.statuses(self.paths) if status.name == name), 0)

    def session(self) -> Session:
        session = Session(f"http://127.0.0.1:{self.port}")
        session.token = session.post("/api/v1/auth/login", {"username": "determined", "password": ""})["token"]
        return session

    def workspaces(self) -> list[str]:
        return [workspace["name"] for workspace in self.session().get("/api/v1/workspaces")["workspaces"]]

    def listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def answers(self) -> bool:
        try:
            return self.listens() and bool(self.workspaces())
        except (CliError, OSError):
            return False

    def close(self) -> None:
        self.det("cluster-down", "--delete-db")
        for folder in (self.folder, *self.paths.of_root.parent.glob(f"{self.paths.digest}-*")):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def local() -> Iterator[Local]:
    local = Local()
    yield local
    local.close()


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Local, str]]:
    """A cluster for several tests, and what `cluster-up` has printed."""
    local = Local()
    done = local.up()
    assert done.returncode == 0, done.stdout + done.stderr
    yield local, done.stdout
    local.close()


@pytest.fixture
def running(started: tuple[Local, str]) -> Local:
    return started[0]


@pytest.fixture(scope="module")
def left_behind() -> Iterator[Local]:
    """A cluster whose supervisor each of several tests kills, and which runs again after each of them but the last."""
    local = Local()
    yield local
    local.close()


def test_a_cluster_says_how_it_comes_up_and_where_it_is(started: tuple[Local, str]) -> None:
    local, printed = started
    for line in (
        "database made",
        "database ready",
        "bus ready",
        "gateway ready",
        f"is up at http://127.0.0.1:{local.port}",
    ):
        assert line in printed


def test_up_again_remembers_and_deleting_forgets(local: Local) -> None:
    assert local.up().returncode == 0
    local.session().post("/api/v1/workspaces", {"name": "yesterday"})
    assert local.det("cluster-down").returncode == 0
    assert not local.answers()
    assert local.up().returncode == 0
    assert "yesterday" in local.workspaces()
    assert local.det("cluster-down", "--delete-db").returncode == 0
    assert not local.paths.root.exists()
    assert local.up("--agents", "2", "--slots", "1", "--no-gpu").returncode == 0
    assert "yesterday" not in local.workspaces()
    session = local.session()
    wait_for(lambda: len(session.get("/api/v1/agents")["agents"]) == 2, what="up to be up with agents")


def scraped(url: str, token: str = "", path: str = "/metrics") -> str:
    """What a monitoring system reads."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(f"{url}{path}", headers=headers), timeout=60) as answer:
        return str(answer.read().decode())


def test_status_shows_what_runs_and_where_its_metrics_are(running: Local) -> None:
    assert running.det("agent-up", "127.0.0.1", "--master-port", str(running.port), "--slots", "1").returncode == 0
    try:
        session = running.session()
        wait_for(lambda: session.get("/api/v1/agents")["agents"], what="the agent to be shown")
        shown = running.det("status")
        assert shown.returncode == 0, shown.stderr
        status = json.loads(running.det("status", "--json").stdout)
        assert (status["address"], status["version"]) == (f"http://127.0.0.1:{running.port}", "0.38.1")
        assert (status["running"], status["ready"], status["data_dir"]) == (True, True, str(running.paths.root))
        assert [(pool["name"], pool["agents"]) for pool in status["pools"]] == [("default", 1)]
        [agent] = status["agents"]
        assert agent["isolation"] == (running.paths.agent("det-agent-vm") / "isolation").read_text().partition(":")[0]
        assert [one["name"] for one in status["services"]] == ["postgres", "nats", "services"]
        token = Path(status["metrics_token_file"]).read_text().strip()
        found = json.loads(scraped(status["discovery"], token, ""))
        listed = {
            group["labels"]["resolute_process"]: group["targets"]
            for group in found
            if "resolute_process" in group["labels"]
        }
        assert listed.keys() == {"services", "det-agent-vm"}
        for process in (agent["process"], status["services"][-1]):
            [target] = listed[process["name"]]
            assert process["metrics"] == f"http://{target}/metrics"
            assert "resolute_event_loop_hold_seconds_bucket" in scraped(f"http://{target}")
            assert process["metrics"] in shown.stdout
    finally:
        running.det("agent-down")


def test_every_series_that_the_dashboard_shows_is_exported_by_some_process(running: Local) -> None:
    """Read from a cluster, not from the code: a metric that nothing registers in a running process has no line here."""
    token = running.paths.metrics_token.read_text().strip()
    gateway = f"http://127.0.0.1:{running.port}"
    [target] = (
        group["targets"][0]
        for group in json.loads(scraped(gateway, token, "/prom/det-http-sd-config"))
        if group["labels"].get("resolute_process") == "services"
    )
    pages = scraped(f"http://{target}") + scraped(gateway, token, "/prom/det-state-metrics")
    assert set(dashboard.asked_for()) - dashboard.exported(pages) == set()


def test_deleting_a_cluster_takes_nothing_else_from_its_directory(local: Local) -> None:
    local.paths.root.mkdir()
    (local.paths.root / "thesis.tex").write_text("years of work")
    assert local.up().returncode == 0
    assert "thesis.tex" in local.det("cluster-down", "--delete-db").stdout
    assert [entry.name for entry in local.paths.root.iterdir()] == ["thesis.tex"]


def test_a_directory_that_was_deleted_leaves_nothing_to_the_next_cluster_there(local: Local) -> None:
    local.folder.chmod(0o700)  # as root, the database is then kept where Postgres' user can get at it
    assert local.up().returncode == 0
    local.session().post("/api/v1/workspaces", {"name": "of yesterday"})
    assert local.det("cluster-down").returncode == 0
    shutil.rmtree(local.paths.root)
    assert local.up().returncode == 0
    assert "of yesterday" not in local.workspaces()
    assert local.det("cluster-down", "--delete-db").returncode == 0


def test_everything_that_is_killed_comes_back(running: Local) -> None:
    for name in ("nats", "postgres", "services"):
        running.session().post("/api/v1/workspaces", {"name": f"before {name}"})
        killed = running.pid(name)
        os.kill(killed, signal.SIGKILL)
        if name == "nats":
            shutil.rmtree(running.paths.nats)
        wait_for(lambda: running.pid(name) not in (0, killed), what=f"{name} to be started again")  # noqa: B023
        wait_for(running.answers, what=f"an answer after {name} was killed", within_s=180)
        assert f"before {name}" in running.workspaces()


def test_a_second_start_is_refused(running: Local) -> None:
    done = running.up()
    assert done.returncode != 0
    assert "it is running already" in done.stderr
    assert running.answers()


def test_logs_are_shown_without_secrets(running: Local) -> None:
    done = running.det("logs", "--no-follow")
    assert done.returncode == 0
    assert "services     |" in done.stdout
    assert "supervisor   |" in done.stdout
    for file in running.paths.secrets.iterdir():
        assert file.read_text().strip() not in done.stdout


def kept_running(local: Local) -> None:
    if processes.supervisor_pid(local.paths) is None:
        assert local.up().returncode == 0


def test_a_cluster_whose_supervisor_died_comes_up_again_where_it_was(left_behind: Local) -> None:
    kept_running(left_behind)
    left_behind.session().post("/api/v1/workspaces", {"name": "yesterday"})
    before, services = cluster.load(left_behind.paths), psutil.Process(left_behind.pid("services"))
    left_behind.kill_supervisor()
    done = left_behind.up()
    assert done.returncode == 0, done.stderr
    assert "stopped what an earlier supervisor left behind: postgres, nats, services" in done.stdout
    assert not processes.lives(services)
    assert cluster.load(left_behind.paths) == before, "the ports are its own, and free again"
    assert "yesterday" in left_behind.workspaces()


def test_a_cluster_whose_supervisor_died_can_be_begun_anew(left_behind: Local) -> None:
    kept_running(left_behind)
    left_behind.session().post("/api/v1/workspaces", {"name": "of long ago"})
    postgres = psutil.Process(left_behind.pid("postgres"))
    left_behind.kill_supervisor()
    done = left_behind.up("--delete-db")
    assert done.returncode == 0, done.stderr
    assert not processes.lives(postgres)
    assert "of long ago" not in left_behind.workspaces()


def test_what_a_dead_supervisor_left_behind_is_taken_over(left_behind: Local) -> None:
    kept_running(left_behind)
    services = psutil.Process(left_behind.pid("services"))
    left_behind.kill_supervisor()
    assert processes.lives(services)
    assert left_behind.det("cluster-down").returncode == 0
    assert not processes.lives(services)


def test_of_two_starts_at_once_one_is_told_of_the_other_and_leaves_it_alone(local: Local) -> None:
    with ThreadPoolExecutor() as people:
        both = [people.submit(local.up) for _ in range(2)]
        won, lost = sorted((one.result() for one in both), key=lambda done: done.returncode)
    assert won.returncode == 0, won.stderr
    assert lost.returncode != 0
    assert "it is running already" in lost.stderr
    assert local.answers()


def test_who_starts_a_cluster_while_it_is_taken_down_gets_it_back(local: Local) -> None:
    assert local.up().returncode == 0
    supervisor = processes.supervisor_pid(local.paths)
    with ThreadPoolExecutor() as people:
        down = people.submit(local.det, "cluster-down", "--delete-db")
        wait_for(lambda: "cluster-up" not in local.whose_turn(), what="cluster-down to begin")
        up = local.up()
    assert down.result().returncode == 0, down.result().stderr
    assert up.returncode == 0, up.stderr
    assert processes.supervisor_pid(local.paths) not in (None, supervisor)
    assert local.answers()


def test_a_port_in_use_starts_nothing(local: Local) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", local.port))
        taken.listen()
        done = local.up()
    assert done.returncode != 0
    assert f"cannot listen on 127.0.0.1:{local.port}" in done.stderr
    assert f"pid {os.getpid()}" in done.stderr
    assert not local.paths.root.exists()


def test_a_directory_of_another_release_starts_nothing(local: Local) -> None:
    local.paths.root.mkdir()
    local.paths.description.write_text(json.dumps({"format": 99}))
    done = local.up()
    assert done.returncode != 0
    assert "it has format 99, and this release uses 1" in done.stderr
    assert processes.supervisor_pid(local.paths) is None


def test_a_cluster_for_others_needs_a_password(local: Local) -> None:
    done = local.up(RESOLUTE_API_HOST="0.0.0.0")
    assert done.returncode != 0
    assert "give --initial-user-password" in done.stderr
    assert processes.supervisor_pid(local.paths) is None
    assert local.up("--initial-user-password", "Correct-Horse-7", RESOLUTE_API_HOST="0.0.0.0").returncode == 0
    assert "Correct-Horse-7" not in local.paths.plan.read_text()
    with pytest.raises(CliError):
        local.session()


def test_one_who_does_not_wait_still_gets_what_was_asked_for(local: Local) -> None:
    words = ["deploy", "--no-wait-for-master", "local", "cluster-up", "--cluster-name", "test", "--agents", "0"]
    words += ["--data-dir", str(local.paths.root), "--master-port", str(local.port)]
    words += ["--initial-user-password", "Correct-Horse-7"]
    det = str(Path(sys.executable).parent / "det")
    subprocess.run([det, *words], check=True, timeout=300, env=local.env)
    assert "Correct-Horse-7" not in local.paths.plan.read_text()
    wait_for(local.listens, what="the gateway", within_s=180)
    with pytest.raises(CliError):
        local.session()


def test_what_cannot_start_is_shown_with_its_log_and_nothing_is_left_running(local: Local) -> None:
    config = local.folder / "master.yaml"
    config.write_text("checkpoint_storage:\n  type: nowhere\n")
    done = local.up("--master-config-path", str(config))
    assert done.returncode != 0
    assert "checkpoint_storage" in done.stderr
    assert processes.supervisor_pid(local.paths) is None


def test_services_may_be_processes_of_their_own(local: Local) -> None:
    assert local.up(RESOLUTE_SEPARATE_SERVICES="1").returncode == 0
    names = {status.name for status in processes.statuses(local.paths)}
    assert names >= {"relay", "directory", "searcher", "tasks", "scheduler", "checkpoint", "api"}
    killed = local.pid("api")
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: local.pid("api") not in (0, killed), what="the gateway's restart")
    wait_for(local.answers, what="an answer", within_s=180)


def resident_bytes(local: Local) -> int:
    """What it would free to end the cluster: shared pages are counted once."""
    supervisor = processes.supervisor_pid(local.paths)
    family: list[psutil.Process] = [psutil.Process(supervisor), *psutil.Process(supervisor).children(recursive=True)]
    return sum(_pss(process) for process in family)


def _pss(process: psutil.Process) -> int:
    try:
        found: Any = process.memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(found, "pss", found.rss))


def test_an_idle_cluster_is_small(running: Local) -> None:
    assert resident_bytes(running) < 300 * 1024 * 1024

"""A trial in a container, on a real cluster with a real Docker daemon: what it sees, and what is seen of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.integration.cluster.local import LocalCluster, until
from tests.integration.docker.hosts import IMAGE, Host, docker

pytestmark = [needs.docker, pytest.mark.timeout(900)]

Site = tuple[LocalCluster, Host]
MODEL = Path(__file__).parents[1] / "cluster" / "model"


def experiment(**changes: Any) -> dict[str, Any]:
    """The smallest there is; `changes` go to its top level."""
    return {
        "name": "contained",
        "entrypoint": "python3 train.py",
        "hyperparameters": {"x": 1.0, "steps": 20, "step_s": 0.02},
        "searcher": {"name": "single", "metric": "loss"},
        "environment": {"image": IMAGE},
        "max_restarts": 0,
        **changes,
    }


def told(site: Site, config: dict[str, Any], context: Path = MODEL, state: str = "COMPLETED") -> str:
    """The log of the one trial of an experiment that ends in `state`."""
    cluster, host = site
    experiment_id = cluster.create(config, context)
    ended = cluster.ended(experiment_id)
    (trial,) = cluster.trials(experiment_id)
    log = cluster.logs(trial["id"])
    assert ended == f"STATE_{state}", log + host.log.read_text()[-3000:]
    return log


def saying(tmp_path: Path, code: str) -> Path:
    """A context whose program is `code`."""
    (tmp_path / "say.py").write_text(code)
    return tmp_path


def test_a_trial_trains_in_a_container_and_its_checkpoints_are_on_the_host(site: Site) -> None:
    cluster, host = site
    assert "ends after step 20" in told(site, experiment())
    experiment_id = max(int(one["id"]) for one in cluster.get("/api/v1/experiments")["experiments"])
    (trial,) = cluster.trials(experiment_id)
    assert cluster.validations(trial["id"]) == [10, 20]
    checkpoints = cluster.get(f"/api/v1/experiments/{experiment_id}/checkpoints")["checkpoints"]
    assert checkpoints
    stored = [cluster.data / "storage" / checkpoint["uuid"] / "steps" for checkpoint in checkpoints]
    assert any(file.read_text() == "20" for file in stored if file.exists())
    until("the container is gone", lambda: not host.containers())


FACTS = """
import json, os, pathlib, sys
import determined
print(json.dumps({
    "cwd": os.getcwd(), "uid": os.getuid(), "gid": os.getgid(), "home": os.environ.get("HOME"),
    "harness": determined.__file__, "run": os.environ["DET_RUN_DIR"], "own": os.stat("/run/determined").st_uid,
    "written": pathlib.Path("here").write_text("x"), "read_only": not os.access("/opt/resolute", os.W_OK),
    "shm": os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize, "hostname": os.uname().nodename,
    "chosen": os.environ.get("CHOSEN"), "agents": [name for name in os.environ if name.startswith("RESOLUTE_")],
    "caps": open("/proc/self/status").read().split("CapEff:")[1].split()[0],
    "no_new_privs": open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0],
    "devices": sorted(os.listdir("/dev")), "mounted": os.path.exists("/data/hello") and open("/data/hello").read(),
    "first": open("/proc/1/cmdline").read().split("\\0")[3],
}))
"""


def test_what_a_task_in_a_container_sees(site: Site, tmp_path: Path) -> None:
    environment = {"image": IMAGE, "environment_variables": ["CHOSEN=yes"], "add_capabilities": ["SYS_NICE"]}
    environment["drop_capabilities"] = ["NET_RAW"]
    config = experiment(
        entrypoint="python3 say.py", environment=environment, resources={"shm_size": "96M"}, max_restarts=0
    )
    log = told(site, config, saying(tmp_path, FACTS))
    facts = json.loads(next(line for line in log.splitlines() if '"cwd"' in line).split("INFO: ")[1])
    assert facts["cwd"] == "/run/determined/workdir"
    assert facts["run"] == "/run/determined"
    assert facts["harness"].startswith("/opt/resolute/harness/determined")
    assert facts["shm"] == 96 * 2**20
    assert facts["chosen"] == "yes"
    assert facts["agents"] == []
    assert facts["no_new_privs"] == "1"
    assert int(facts["caps"], 16) & (1 << 23), "SYS_NICE was added"
    assert not int(facts["caps"], 16) & (1 << 13), "NET_RAW was dropped"
    assert facts["first"].endswith("container_shim.py")


def link(cluster: LocalCluster, *words: str) -> None:
    """Say, as the administrator, whom the tasks of user determined run as."""
    usual, cluster.env = cluster.env, {**cluster.env, "DET_USER": "admin", "DET_PASS": ""}
    try:
        cluster.det("user", "link-with-agent-user", "determined", *words)
    finally:
        cluster.env = usual


def test_a_task_runs_as_its_owners_agent_user(site: Site, tmp_path: Path) -> None:
    cluster, _ = site
    link(cluster, "--agent-uid", "1234", "--agent-user", "ada", "--agent-gid", "2345", "--agent-group", "science")
    (cluster.data / "storage").chmod(0o777)
    try:
        log = told(site, experiment(entrypoint="python3 say.py"), saying(tmp_path, FACTS))
    finally:
        link(cluster, "--agent-uid", "0", "--agent-user", "root", "--agent-gid", "0", "--agent-group", "root")
    facts = json.loads(next(line for line in log.splitlines() if '"cwd"' in line).split("INFO: ")[1])
    assert (facts["uid"], facts["gid"], facts["own"]) == (1234, 2345, 1234)
    assert facts["home"] == "/run/determined/workdir"


def test_containers_say_whose_they_are(site: Site) -> None:
    cluster, host = site
    experiment_id = cluster.create(experiment(hyperparameters={"x": 1, "steps": 4000, "step_s": 0.02}), MODEL)
    (container,) = until("a container runs", lambda: host.containers(alive=True))
    labels = json.loads(docker("inspect", "--format", "{{json .Config.Labels}}", container))
    found = {name.removeprefix("ai.resolute."): value for name, value in labels.items()}
    assert found["cluster"] == host.cluster_id
    assert found["agent"] == host.name
    assert found["experiment"] == str(experiment_id)
    assert found["rank"] == "0"
    assert found["task_type"] == "TRIAL"
    assert found["allocation"].startswith(found["task"])
    cluster.det("experiment", "kill", str(experiment_id))
    assert cluster.ended(experiment_id) == "STATE_CANCELED"
    until("nothing of it runs", lambda: not host.containers())


# ---------------------------------------------------------------- unkindness


def test_an_agent_that_is_killed_finds_its_containers_again(site: Site) -> None:
    cluster, host = site
    experiment_id = cluster.create(experiment(hyperparameters={"x": 1, "steps": 200, "step_s": 0.02}), MODEL)
    (container,) = until("a container runs", lambda: host.containers(alive=True))
    (trial,) = until("there is a trial", lambda: cluster.trials(experiment_id))
    until("it trains", lambda: "step 20" in cluster.logs(trial["id"]))
    host.kill()
    host.start()
    assert cluster.ended(experiment_id) == "STATE_COMPLETED", host.log.read_text()[-3000:]
    numbers = [int(step) for step in re.findall(r"root: step (\d+)", cluster.logs(trial["id"]))]
    assert numbers == list(range(1, 201)), "each line is there, once, and nothing was trained twice"
    until("its container is gone", lambda: container not in host.containers())


def test_a_container_that_is_killed_is_told_of_and_the_trial_goes_on(site: Site) -> None:
    cluster, host = site
    hyperparameters = {"x": 1, "steps": 20, "step_s": 0.02, "killed_at": 12}
    experiment_id = cluster.create(experiment(hyperparameters=hyperparameters), MODEL)
    (container,) = until("a container runs", lambda: host.containers(alive=True))
    (trial,) = until("there is a trial", lambda: cluster.trials(experiment_id))
    until("it has a checkpoint, and waits", lambda: "step 12" in cluster.logs(trial["id"]))
    docker("kill", container)
    assert cluster.ended(experiment_id) == "STATE_COMPLETED", host.log.read_text()[-3000:]
    log = cluster.logs(trial["id"])
    assert "its container was killed from outside" in log
    assert "begins after step 10" in log


def test_containers_that_no_task_owns_are_removed_when_the_agent_starts(site: Site) -> None:
    _, host = site
    labels = (f"ai.resolute.cluster={host.cluster_id}", f"ai.resolute.agent={host.name}", "ai.resolute.resources=gone")
    words = [word for label in labels for word in ("--label", label)]
    stray = docker("run", "-d", *words, IMAGE, "sleep", "600")
    host.kill()
    host.start()
    until("the stray is gone", lambda: stray not in host.containers())


def test_memory_that_runs_out_is_told_plainly(tmp_path: Path, site: Site) -> None:
    _, host = site
    hungry = saying(tmp_path, "print('hungry')\nhoard = [bytearray(2**20) for _ in range(1024)]\nprint('full')")
    with host.settled(docker_memory_per_slot="64MiB", docker_cpus_per_slot=0.5):
        log = told(site, experiment(entrypoint="python3 say.py"), hungry, "ERROR")
    assert "out of memory: the container was allowed 64 MiB" in log
    assert "exit code 137" in log

"""A cluster that is started with a master configuration does what the configuration says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from resolute.cli.session import Session
from tests.integration.deploy.test_embedded_cluster import Local
from tests.servers import Postgres, wait_for

pytestmark = pytest.mark.timeout(600)

EXPERIMENT = """
name: hooked
entrypoint: sh -c 'printf "%s %s" "$HOOKED" "$(id -u)" > {file}.new && mv {file}.new {file}'
hyperparameters: {{}}
max_restarts: 0
searcher: {{name: single, metric: loss, max_length: {{batches: 1}}}}
"""


@pytest.fixture(scope="module")
def local(postgres_server: Postgres) -> Iterator[Local]:
    local = Local()
    database = postgres_server.fresh_database()
    where = urlsplit(database)
    master = {
        "port": local.port,
        "cluster_name": "ours",
        "launch_error": False,
        "db": {"user": "postgres", "host": parse_qs(where.query)["host"][0], "name": where.path[1:]},
        "security": {"default_task": {"user": "nobody", "uid": 65534, "group": "nogroup", "gid": 65534}},
        "task_container_defaults": {"startup_hook": "export HOOKED=by-the-cluster"},
        "telemetry": {"enabled": False},
    }
    (local.folder / "master.yaml").write_text(json.dumps(master))
    up = ("cluster-up", "--agents", "1", "--slots", "1", "--no-gpu")
    started = local.det(*up, "--master-config-path", str(local.folder / "master.yaml"))
    assert started.returncode == 0, started.stdout + started.stderr
    yield local
    local.det("cluster-down")
    local.close()
    postgres_server.forget_database(database)


def test_it_has_its_port_its_name_and_its_database(local: Local) -> None:
    assert Session(f"http://127.0.0.1:{local.port}").get("/info")["cluster_name"] == "ours"
    assert local.pid("postgres") == 0
    assert not (local.paths.root / "postgres").exists()
    assert local.workspaces() == ["Uncategorized"]


def test_its_tasks_run_its_hook_and_are_whom_it_says(local: Local, tmp_path: Path) -> None:
    shown = local.folder / "shown"
    shown.mkdir()
    shown.chmod(0o777)
    (tmp_path / "hooked.yaml").write_text(EXPERIMENT.format(file=shown / "it"))
    (tmp_path / "context").mkdir()
    local.experiment("create", str(tmp_path / "hooked.yaml"), str(tmp_path / "context"))
    wait_for((shown / "it").exists, what="a trial whose cluster has a hook", within_s=180)
    hooked, uid = (shown / "it").read_text().split()
    assert hooked == "by-the-cluster"
    if os.geteuid() == 0:
        assert uid == "65534"


def test_what_no_agent_can_hold_is_warned_of(local: Local) -> None:
    config = EXPERIMENT.format(file="/tmp/never") + "resources: {slots_per_trial: 7}\n"
    answer = local.session().post("/api/v1/experiments", {"config": config, "validateOnly": True})
    assert answer["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]

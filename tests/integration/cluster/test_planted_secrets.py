"""Secrets that are planted in a configuration reach the task, and are in nothing that a real cluster keeps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from resolute.deploy import commands, postgres_files
from tests.integration.cluster.local import LocalCluster, local_cluster

pytestmark = pytest.mark.timeout(600)

PLANTED = ("hunter2-token-in-the-clear", "hunter2-data-in-the-clear", "hunter2-registry-in-the-clear")

CODE = f"""
import json, os
token, data, _ = (part[::-1] for part in {[secret[::-1] for secret in PLANTED]!r})
config = json.loads(os.environ["DET_EXPERIMENT_CONFIG"])
assert os.environ["TOKEN"] == token
assert config["data"]["secrets"] == {{"key": data}}
assert "registry_auth" not in config["environment"]
print("the task has its secrets")
"""


def config_of(name: str) -> dict[str, object]:
    token, data, registry = PLANTED
    return {
        "name": name,
        "entrypoint": "python3 check.py",
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
        "max_restarts": 0,
        "environment": {
            "environment_variables": [f"TOKEN={token}"],
            "registry_auth": {"username": "me", "password": registry},
        },
        "data": {"secrets": {"key": data}},
    }


def files_that_hold_a_secret(folder: Path) -> list[Path]:
    """Of all that the cluster keeps: the database's own files and its write-ahead log, NATS's store, every log."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if any(secret.encode() in file.read_bytes() for secret in PLANTED)]


def dump_of(cluster: LocalCluster) -> bytes:
    url = commands.database_url("test", cluster.data)
    assert url is not None
    program = postgres_files.installed().path("pg_dump")
    return subprocess.run([program, url], capture_output=True, check=True, timeout=60).stdout


def test_a_planted_secret_reaches_its_task_and_nothing_that_is_kept(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "check.py").write_text(CODE)
    with local_cluster(tmp_path, separate=False, slots=1, agents=1) as cluster:
        first = cluster.create(config_of("planted"), code)
        state = cluster.ended(first)
        said = cluster.logs(1)
        assert "the task has its secrets" in said, (state, said)
        assert state == "STATE_COMPLETED", said
        for shown in (cluster.det("experiment", "describe", str(first), "--json"), said):
            assert not any(secret in shown for secret in PLANTED[1:])

        waiting = cluster.create(config_of("forgotten"), code, "--paused")
        assert "1 keys forgotten" in cluster.resolute("secrets", "forget", f"experiment-{waiting}")
        told = cluster.resolute("log", "show", "secrets-cluster")
        assert f"the secrets of experiment-{waiting} were forgotten, with 1 data key" in told
        cluster.det("experiment", "activate", str(waiting))
        assert cluster.ended(waiting) == "STATE_ERROR"
        assert "secrets of experiment 2 were forgotten" in cluster.resolute("log", "why", f"experiment-{waiting}")
        assert "1 keys wrapped by" in cluster.resolute("secrets", "rotate") + cluster.resolute("secrets", "show")
        assert "TOKEN=hunter2" in cluster.det("experiment", "config", str(first)), "the owner reads the variables"

        dump = dump_of(cluster)
        assert b"sealed:v1:" in dump
        assert not [secret for secret in PLANTED if secret.encode() in dump]
        assert files_that_hold_a_secret(cluster.data) == []
        assert "the same, byte for byte" in cluster.resolute("replay", "--check")

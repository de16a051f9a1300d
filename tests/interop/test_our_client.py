"""Our own `det` gets through the same cluster, and tells programs and people the same things."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interop.conftest import ENDED, MODEL, PublicClient

LASTING = ("--config", "hyperparameters.steps=2000", "--config", "hyperparameters.pause_s=0.05")


@pytest.fixture
def ours(cluster: str, tmp_path: Path) -> PublicClient:
    """`det` of this repository, with an empty home."""
    return PublicClient(Path(sys.prefix), cluster, tmp_path)


def test_an_experiment_is_created_and_followed_to_the_end(ours: PublicClient) -> None:
    ended = ours.run("e", "create", str(MODEL / "short.yaml"), str(MODEL), "-f")
    assert ended.returncode == 0, ended.stderr
    preparing, created, waiting, following, *log = ended.stdout.splitlines()
    assert preparing.startswith("Preparing files to send to master... ")
    assert created.startswith("Created experiment ")
    assert waiting == "Waiting for first trial to begin..."
    assert following.startswith("Following first trial with ID ")
    assert any("starting at step 0" in line for line in log)
    assert any("stopping at step 3" in line for line in log)
    assert "det trial logs -f" in ended.stderr


def test_programs_get_json_everywhere(ours: PublicClient, finished: int) -> None:
    assert finished in [each["id"] for each in json.loads(ours.det("e", "ls", "--json"))]
    assert ours.experiment(finished)["state"] == "STATE_COMPLETED"
    trial = json.loads(ours.det("e", "lt", str(finished), "--json"))[0]
    described = json.loads(ours.det("t", "describe", str(trial["id"]), "--json"))
    assert described["trial"]["totalBatchesProcessed"] == 3
    assert len(json.loads(ours.det("a", "ls", "--json"))) == 1
    assert json.loads(ours.det("s", "ls", "--json"))[0]["allocation_id"]
    assert isinstance(json.loads(ours.det("task", "ls", "--json")), dict)
    assert json.loads(ours.det("job", "ls", "--json")) == {"jobs": []}  # as the public client prints it
    assert json.loads(ours.det("master", "info", "--json"))["version"] == "0.38.1"
    assert json.loads(ours.det("user", "ls", "--json"))


def test_people_get_tables_everywhere(ours: PublicClient, finished: int) -> None:
    for words in (
        "e ls -a", "e ls --show_project", f"e lt {finished}", f"e lc {finished}", f"e describe {finished} --metrics",
        "a ls", "s ls", "task ls", "j ls", "rp ls", "u ls",
    ):  # fmt: skip
        assert "-+-" in ours.det(*words.split()), words
    assert "searcher:" in ours.det("e", "config", str(finished))
    assert "master_address:" in ours.det("version")


def test_a_checkpoint_of_a_trial_is_fetched_best_or_latest(ours: PublicClient, finished: int, tmp_path: Path) -> None:
    trial = str(json.loads(ours.det("e", "lt", str(finished), "--json"))[0]["id"])
    for which in ("--best", "--latest"):
        for mode in ("auto", "master"):
            target = tmp_path / which / mode
            assert ours.det("t", "download", trial, which, "-q", "-o", str(target), "--mode", mode) == f"{target}\n"
            assert (target / "steps.txt").read_text() == "3"


def test_the_model_comes_back_as_it_was_sent(ours: PublicClient, finished: int, tmp_path: Path) -> None:
    archive = ours.det("e", "download-model-def", str(finished), "--output-dir", str(tmp_path)).strip()
    subprocess.run(["tar", "-xzf", archive, "-C", str(tmp_path)], check=True)
    assert (tmp_path / "train.py").read_bytes() == (MODEL / "train.py").read_bytes()


def test_logs_are_cut_to_what_is_asked(ours: PublicClient, finished: int) -> None:
    whole = ours.det("e", "logs", str(finished)).splitlines()
    trial = str(json.loads(ours.det("e", "lt", str(finished), "--json"))[0]["id"])
    assert ours.det("t", "logs", trial, "--head", "1").splitlines() == whole[:1]
    assert ours.det("t", "logs", trial, "--tail", "1").splitlines() == whole[-1:]
    assert ours.det("t", "logs", trial, "--rank", "0").splitlines() == [line for line in whole if "[rank=0]" in line]
    assert ours.det("t", "logs", trial, "--rank", "5") == ""
    assert ours.det("t", "logs", trial, "--level", "CRITICAL") == ""
    instant = json.loads(ours.det("t", "logs", trial, "--json").splitlines()[-1])["timestamp"]
    assert ours.det("t", "logs", trial, "--timestamp-after", instant) == ""


def test_an_experiment_is_steered_and_waited_for(ours: PublicClient) -> None:
    experiment_id = ours.submit(*LASTING, "--paused")
    assert ours.experiment(experiment_id)["state"] == "STATE_PAUSED"
    ours.det("e", "activate", str(experiment_id))
    ours.det("e", "set", "max-restarts", str(experiment_id), "7")
    assert ours.experiment(experiment_id)["config"]["max_restarts"] == 7
    ours.det("e", "label", "add", str(experiment_id), "a label")
    assert ours.experiment(experiment_id)["labels"] == ["a label"]
    ours.det("e", "label", "remove", str(experiment_id), "a label")
    ours.det("e", "cancel", str(experiment_id))
    ended = ours.run("e", "wait", str(experiment_id), "--polling-interval", "1")
    assert (ended.returncode, ended.stdout) == (
        1,
        f"Experiment {experiment_id} ended in state CANCELED: it was canceled\n",
    )


def test_what_the_state_does_not_allow_is_refused_with_the_state_named(ours: PublicClient, finished: int) -> None:
    ended = ours.run("e", "pause", str(finished))
    assert ended.returncode == 1
    assert ended.stderr.startswith("Failed to pause experiment: ")
    assert "COMPLETED" in ended.stderr


def test_an_unknown_id_is_not_found(ours: PublicClient) -> None:
    for words in ("e describe 99999", "t describe 99999", "t logs 99999", "c describe nothing", "user activate nobody"):
        ended = ours.run(*words.split())
        assert ended.returncode == 1, words
        assert "Failed to " in ended.stderr


def test_interrupting_a_follower_leaves_the_experiment_running(ours: PublicClient) -> None:
    det = [str(ours.environment / "bin" / "det"), "-m", ours.master]
    # A test that runs in the background of a shell ignores the signal, and what it starts would do so too.
    heeds = ["/usr/bin/env", "--default-signal=INT"]
    command = [*heeds, *det, "e", "create", str(MODEL / "short.yaml"), str(MODEL), "-f", *LASTING]
    environment = {"XDG_CONFIG_HOME": str(ours.home), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        seen = ""
        deadline = time.monotonic() + 60
        while "starting at step" not in seen and time.monotonic() < deadline:
            seen += child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
    experiment_id = int(seen.split("Created experiment ")[1].split()[0])
    assert child.returncode == 3
    assert f"experiment {experiment_id} goes on" in errors
    assert ours.experiment(experiment_id)["state"] not in ENDED
    ours.det("e", "kill", str(experiment_id))
    assert ours.until(experiment_id, lambda state: state in ENDED) == "STATE_CANCELED"


def test_users_come_and_go(ours: PublicClient) -> None:
    admin = {"DET_USER": "admin", "DET_PASS": ""}
    name = f"ours-{time.time_ns()}"
    ours.det("user", "create", name, "--password", "Interop-4-ever", **admin)
    assert f"'{name}'" in ours.det("user", "whoami", DET_USER=name, DET_PASS="Interop-4-ever")
    ours.det("user", "deactivate", name, **admin)
    refused = ours.run("user", "whoami", DET_USER=name, DET_PASS="Interop-4-ever")
    assert refused.returncode == 1
    ours.det("user", "logout")

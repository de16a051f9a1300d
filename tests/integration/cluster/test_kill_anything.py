"""P1, P2, P4, P6, P7 on a real cluster: any process is killed at any moment of a search, and it still ends right.

Each story kills one thing, several times, while a search of eight trials runs two at a time; then the search must have
ended with the same trials, each with every validation, and the log must be whole.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until
from tests.integration.cluster.searches import MODEL, STEPS, stepwise

SEARCH = stepwise("kill-anything", step_s=0.02, trials=8)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("kill"), separate=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def undisturbed(cluster: LocalCluster) -> list[Any]:
    """The hyperparameters of a search that nobody disturbs."""
    experiment_id = cluster.create(SEARCH, MODEL)
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    return hparams_of(cluster, experiment_id)


def hparams_of(cluster: LocalCluster, experiment_id: int) -> list[Any]:
    return [trial["hparams"] for trial in sorted(cluster.trials(experiment_id), key=lambda trial: int(trial["id"]))]


VICTIMS = ["api", "directory", "searcher", "tasks", "scheduler", "checkpoint", "relay", "agent-1", "nats", "postgres"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_search_ends_the_same_whoever_is_killed(cluster: LocalCluster, undisturbed: list[Any], victim: str) -> None:
    chance = random.Random(victim)
    experiment_id = cluster.create(SEARCH, MODEL)
    for _ in range(3):
        time.sleep(chance.uniform(0.2, 1.5))  # the moment of the blow is what is tried out here
        cluster.kill(victim, wipe=victim == "nats")
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    check_promises(cluster, experiment_id, undisturbed)


def check_promises(cluster: LocalCluster, experiment_id: int, undisturbed: list[Any]) -> None:
    assert hparams_of(cluster, experiment_id) == undisturbed
    for trial in cluster.trials(experiment_id):
        assert trial["state"] == "STATE_COMPLETED"
        assert trial["restarts"] == 0, "nobody but its host may make a trial start again"
        assert cluster.validations(int(trial["id"])) == STEPS
        check_log(cluster, int(trial["id"]))
    assert "whole" in cluster.resolute("log", "verify")


def check_log(cluster: LocalCluster, trial_id: int) -> None:
    """Every step was said, once, by one process: the trial never noticed."""
    logs = cluster.logs(trial_id)
    assert [int(step) for step in re.findall(r"root: step (\d+)$", logs, re.MULTILINE)] == list(range(1, 41)), logs


@pytest.mark.timeout(600)
def test_every_answer_is_the_same_after_the_read_models_are_told_anew(cluster: LocalCluster) -> None:
    assert "same" in cluster.resolute("replay", "--check")


@pytest.mark.timeout(600)
def test_a_paused_search_goes_on_from_its_checkpoints(cluster: LocalCluster) -> None:
    experiment_id = cluster.create({**SEARCH, "name": "paused"}, MODEL)
    until("something is checkpointed", lambda: any(t["checkpointCount"] for t in cluster.trials(experiment_id)))
    cluster.det("experiment", "pause", str(experiment_id))
    until("the search is at rest", lambda: not cluster.tasks())
    assert cluster.experiment(experiment_id)["state"] == "STATE_PAUSED"
    cluster.det("experiment", "activate", str(experiment_id))
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    for trial in cluster.trials(experiment_id):
        assert cluster.validations(int(trial["id"])) == STEPS


@pytest.mark.timeout(600)
def test_the_cluster_comes_back_with_yesterdays_experiments(cluster: LocalCluster) -> None:
    # Retention goes on after an experiment has ended: yesterday is over when it has let go of what it does not keep.
    until("each trial has its one checkpoint left", lambda: _checkpoints_left(cluster) == {1})
    before = cluster.get("/api/v1/experiments?limit=-1")
    cluster.down()
    cluster.up()
    assert cluster.get("/api/v1/experiments?limit=-1") == before


def _checkpoints_left(cluster: LocalCluster) -> set[int]:
    experiments = cluster.get("/api/v1/experiments?limit=-1")["experiments"]
    return {trial["checkpointCount"] for one in experiments for trial in cluster.trials(one["id"])}


@pytest.mark.timeout(600)
def test_a_trial_whose_code_raises_is_restarted_and_then_the_experiment_says_why(cluster: LocalCluster) -> None:
    failing = {
        **SEARCH,
        "name": "failing",
        "max_restarts": 1,
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"x": 1.0, "steps": 20, "step_s": 0.0, "fail_before": 1},
    }
    experiment_id = cluster.create(failing, MODEL)
    assert cluster.ended(experiment_id) == "STATE_ERROR"
    (trial,) = cluster.trials(experiment_id)
    assert (trial["state"], trial["restarts"]) == ("STATE_ERROR", 1)
    assert "ValueError: as asked, at step 0" in cluster.logs(int(trial["id"]))
    assert "exit code 1" in cluster.resolute("log", "show", f"experiment-{experiment_id}")

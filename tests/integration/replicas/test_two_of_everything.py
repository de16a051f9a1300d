"""Two of every service, of which one is killed and stays dead: a search that goes on meanwhile ends as if nothing was.

The processes are not started again here (`--no-autorestart`), so what is left has to do all of the work.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator

import pytest

from resolute.deploy.args import SERVICES
from tests.integration.cluster.local import LocalCluster, local_cluster, until
from tests.integration.cluster.searches import MODEL, STEPS, stepwise

SEARCH = stepwise("two-of-everything", step_s=0.04, trials=10)
TWO_OF_EACH = tuple(word for service in SERVICES for word in ("--replicas", f"{service}=2"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    home = tmp_path_factory.mktemp("replicas")
    with local_cluster(home, separate=True, flags=(*TWO_OF_EACH, "--no-autorestart")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def undisturbed(cluster: LocalCluster) -> list[float]:
    """What a search tries while all of them live."""
    experiment_id = cluster.create(SEARCH, MODEL)
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    return tried(cluster, experiment_id)


def tried(cluster: LocalCluster, experiment_id: int) -> list[float]:
    """Of each trial what was sampled for it. In no order: searchers draw trials' numbers each for itself."""
    return sorted(trial["hparams"]["x"] for trial in cluster.trials(experiment_id))


@pytest.mark.timeout(900)
def test_a_search_ends_the_same_when_one_of_each_dies_for_good(cluster: LocalCluster, undisturbed: list[float]) -> None:
    chance = random.Random("replicas")
    victims = [f"{service}-{chance.choice((1, 2))}" for service in chance.sample(SERVICES, len(SERVICES))]
    experiment_id = cluster.create(SEARCH, MODEL)
    for ended, victim in enumerate(victims):
        until(f"{ended} trials have ended", lambda: _ended(cluster, experiment_id) >= ended)  # noqa: B023
        kill_for_good(cluster, victim)
    assert not cluster.experiment(experiment_id).get("endTime"), "the last died while the search went on"
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    assert not set(victims) & set(cluster.children()), "nobody came back"
    check_promises(cluster, experiment_id, undisturbed)


def _ended(cluster: LocalCluster, experiment_id: int) -> int:
    return sum(trial["state"] == "STATE_COMPLETED" for trial in cluster.trials(experiment_id))


def kill_for_good(cluster: LocalCluster, name: str) -> None:
    os.kill(cluster.children()[name], signal.SIGKILL)
    until(f"{name} is gone", lambda: name not in cluster.children())


def check_promises(cluster: LocalCluster, experiment_id: int, undisturbed: list[float]) -> None:
    assert tried(cluster, experiment_id) == undisturbed
    for trial in cluster.trials(experiment_id):
        assert (trial["state"], trial["restarts"]) == ("STATE_COMPLETED", 0)
        assert cluster.validations(int(trial["id"])) == STEPS
    assert "whole" in cluster.resolute("log", "verify")


@pytest.mark.timeout(600)
def test_what_is_left_tells_it_all_again_the_same(cluster: LocalCluster) -> None:
    assert "same" in cluster.resolute("replay", "--check")

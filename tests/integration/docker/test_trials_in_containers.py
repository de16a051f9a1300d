"""A trial in a container, on a real cluster with a real Docker daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.integration.cluster.local import LocalCluster
from tests.integration.docker.hosts import IMAGE, Host, container_cluster

pytestmark = [needs.docker, pytest.mark.timeout(240)]

MODEL = Path(__file__).parents[1] / "cluster" / "model"

SMALL: dict[str, Any] = {
    "name": "contained",
    "entrypoint": "python3 train.py",
    "hyperparameters": {"x": 1.0, "steps": 20, "step_s": 0.02},
    "searcher": {"name": "single", "metric": "loss"},
    "environment": {"image": IMAGE},
    "max_restarts": 0,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalCluster, Host]]:
    with container_cluster(tmp_path_factory.mktemp("contained")) as site:
        yield site


def test_a_trial_trains_in_a_container_and_its_checkpoints_are_on_the_host(site: tuple[LocalCluster, Host]) -> None:
    cluster, host = site
    experiment_id = cluster.create(SMALL, MODEL)
    state = cluster.ended(experiment_id)
    assert state == "STATE_COMPLETED", (
        cluster.logs(cluster.trials(experiment_id)[0]["id"])
        + host.log.read_text()
        + cluster.resolute("why", f"experiment-{experiment_id}", check=False)
    )
    (trial,) = cluster.trials(experiment_id)
    assert cluster.validations(trial["id"]) == [10, 20]
    assert "ends after step 20" in cluster.logs(trial["id"])

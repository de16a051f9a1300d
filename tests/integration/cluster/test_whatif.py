"""What if, asked of the log of a real cluster that ran two searches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cluster.local import local_cluster
from tests.integration.cluster.searches import MODEL
from tests.integration.cluster.test_kill_anything import SEARCH


@pytest.mark.timeout(900)
def test_a_real_log_is_told_again_and_then_otherwise(tmp_path: Path) -> None:
    with local_cluster(tmp_path, slots=2) as cluster:
        first = cluster.create({**SEARCH, "name": "first"}, MODEL)
        second = cluster.create({**SEARCH, "name": "second", "resources": {"priority": 1}}, MODEL)
        assert cluster.ended(first) == cluster.ended(second) == "STATE_COMPLETED"
        smaller = json.loads(cluster.resolute("replay", "--agents", "1", "--slots-per-agent", "1", "--json"))
        larger = json.loads(cluster.resolute("replay", "--agents", "4", "--json"))
        table = cluster.resolute("replay", "--policy", "fifo", "--from", "1h")
        refused = cluster.resolute("replay", "--policy", "fifo", "--pool", "gpu", check=False)
    recorded, again = smaller["recorded"], smaller["simulated"]
    assert smaller["work"] == 16
    assert again["waiting"]["count"] == recorded["waiting"]["count"] == 16
    assert abs(again["waiting"]["mean_s"] - recorded["waiting"]["mean_s"]) < 0.2, "the calibration"
    assert abs(again["makespan_s"] - recorded["makespan_s"]) < 0.5
    assert smaller["what_if"]["makespan_s"] > 1.5 * recorded["makespan_s"]
    assert larger["what_if"]["waiting"]["mean_s"] < recorded["waiting"]["mean_s"]
    assert larger["what_if"]["makespan_s"] < recorded["makespan_s"]
    assert "recorded policy, simulated" in table
    assert "experiment 2" in table
    assert refused == ""

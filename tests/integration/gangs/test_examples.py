"""The example scripts, trained by four ranks on two agents with the configurations that come with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests import needs
from tests.integration.gangs.conftest import Gangs

pytestmark = pytest.mark.together("gangs")

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [pytest.param("horovod_script", marks=needs.horovod), "torch_ddp_script"])
def test_an_example_learns_the_digits_on_four_slots(gangs: Gangs, name: str) -> None:
    config = yaml.safe_load((EXAMPLES / name / "const.yaml").read_text())
    config.pop("checkpoint_storage", None)  # the cluster's own, which trials may write to
    experiment_id = gangs.cluster.create(config, EXAMPLES / name)
    state, restarts, lines = gangs.end(experiment_id)
    assert (state, restarts) == ("STATE_COMPLETED", 0), "\n".join(line.text for line in lines)
    (trial,) = gangs.cluster.trials(experiment_id)
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["accuracy"] > 0.9
    # 1437 records are 22 batches of 64 and one smaller, in each of twelve epochs.
    assert len(gangs.cluster.validations(trial["id"])) == 12
    assert trial["totalBatchesProcessed"] == 12 * 23

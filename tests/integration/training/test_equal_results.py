"""However many ranks train a model, and by whichever launcher: at one global batch size they end with the same weights.

Float32 sums depend on their order, which is all that may differ: weights of about 0.3 agree within TOLERANCE after
fourteen batches. Where numbers travel or are computed in 16 bits the tolerance is that of 16 bits.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import needs
from tests.integration.training import model
from tests.integration.training.ranks import started

pytestmark = pytest.mark.timeout(900)

TOLERANCE = 1e-5
TOLERANCES = {"mixed": 0.05, "compressed": 0.01}
SHAPES = [
    *[("torch", size) for size in (2, 4)],
    *[pytest.param("horovod", size, marks=needs.horovod) for size in (2, 4)],
]

Outcome = dict[str, Any]
Trained = Callable[[str, int], pathlib.Path]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trains every scenario once with so many ranks; the folder of what came of it."""
    done: dict[tuple[str, int], pathlib.Path] = {}

    def train(by: str, size: int) -> pathlib.Path:
        if (by, size) not in done:
            folder = tmp_path_factory.mktemp(f"{by}-{size}")
            with started([model.__file__, str(folder / "out"), *model.SCENARIOS], folder, size, by=by) as gang:
                gang.succeed(within_s=240)
            done[by, size] = folder / "out"
        return done[by, size]

    return train


def outcome(folder: pathlib.Path, scenario: str, rank: int = 0) -> Outcome:
    told: Outcome = json.loads((folder / f"{scenario}.{rank}.json").read_text())
    return told


@pytest.mark.parametrize("scenario", model.SCENARIOS)
@pytest.mark.parametrize(("by", "size"), SHAPES)
def test_many_ranks_end_with_the_weights_of_one_process(trained: Trained, by: str, size: int, scenario: str) -> None:
    alone = outcome(trained("alone", 1), scenario)
    tolerance = TOLERANCES.get(scenario, TOLERANCE)
    ranks = [outcome(trained(by, size), scenario, rank) for rank in range(size)]
    for rank in ranks:
        assert rank["weights"] == ranks[0]["weights"]
        assert rank["validation"] == ranks[0]["validation"]
    together = ranks[0]
    np.testing.assert_allclose(together["weights"], alone["weights"], rtol=0, atol=tolerance)
    np.testing.assert_allclose(together["momentum"], alone["momentum"], rtol=0, atol=tolerance)
    assert together["validation"]["seen"] == alone["validation"]["seen"] == 43
    assert together["validation"]["loss"] == pytest.approx(alone["validation"]["loss"], abs=tolerance)
    for ours, theirs in zip(together["training"], alone["training"], strict=True):
        assert ours["seen"] == theirs["seen"] == model.GLOBAL_BATCH_SIZE
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=tolerance)


@pytest.mark.parametrize("scenario", ["plain", "clipped", "aggregated", "summed"])
def test_the_scenarios_are_not_all_the_same(trained: Trained, scenario: str) -> None:
    """Else equal weights would say little: each ends elsewhere, by far more than the tolerance."""
    mine = np.array(outcome(trained("alone", 1), scenario)["weights"])
    others = [
        outcome(trained("alone", 1), other)["weights"] for other in model.SCENARIOS if alike(other) != alike(scenario)
    ]
    assert min(np.abs(mine - other).max() for other in others) > 100 * TOLERANCE


def alike(scenario: str) -> str:
    """Scenarios that are to end at the same weights."""
    settings = {
        key: value for key, value in model.SCENARIOS[scenario].items() if key not in ("stop_after", "compress", "mixed")
    }
    return json.dumps(settings, sort_keys=True)


@pytest.mark.parametrize(
    ("resumed", "straight"),
    [("resumed within an aggregation", "aggregated and clipped")],
)
@pytest.mark.parametrize(("by", "size"), [("alone", 1), *SHAPES])
def test_a_resumed_run_ends_as_one_that_was_not_interrupted(
    trained: Trained, by: str, size: int, resumed: str, straight: str
) -> None:
    folder = trained(by, size)
    np.testing.assert_allclose(
        outcome(folder, resumed)["weights"], outcome(folder, straight)["weights"], rtol=0, atol=TOLERANCE
    )

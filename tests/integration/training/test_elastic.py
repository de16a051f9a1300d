"""A trial that comes back on another number of slots goes on as if it had never been on fewer or more."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from tests import needs
from tests.integration.training import model
from tests.integration.training.ranks import started

pytestmark = pytest.mark.timeout(900)

TOLERANCE = 1e-5


def train(place: pathlib.Path, size: int, stop_after: int, latest: str | None = None, by: str = "torch") -> Any:
    """Train until a batch on so many slots; what the chief left."""
    words = [model.__file__, str(place / "out"), "--part", str(stop_after), *([latest] if latest else [])]
    folder = place / f"{stop_after}-{size}"
    with started(words, folder, size, by=by if size > 1 else "alone", env={"XDG_DATA_HOME": str(place)}) as gang:
        gang.succeed(within_s=120)
    return json.loads((place / "out" / f"until-{stop_after}.0.json").read_text())


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One slot all along."""
    return train(tmp_path_factory.mktemp("straight"), 1, model.BATCHES)


@pytest.mark.parametrize(
    ("by", "parts"),
    [
        ("torch", [(4, 5), (3, 9), (1, model.BATCHES)]),
        pytest.param("horovod", [(4, 5), (2, model.BATCHES)], marks=needs.horovod),
    ],
)
def test_a_trial_on_fewer_and_fewer_slots_ends_as_on_one_all_along(
    tmp_path: pathlib.Path, straight: Any, by: str, parts: list[tuple[int, int]]
) -> None:
    """Parts are numbers of slots, and the batch until which there are so many. Batch 5 lies within an aggregation;
    120 records are no whole number of batches of 22, nor 22 of 4 or 3 slots."""
    told: list[Any] = []
    for size, stop_after in parts:
        told.append(train(tmp_path, size, stop_after, told[-1]["uuid"] if told else None, by))
    last = told[-1]
    np.testing.assert_allclose(last["weights"], straight["weights"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(last["momentum"], straight["momentum"], rtol=0, atol=TOLERANCE)
    assert last["validation"]["loss"] == pytest.approx(straight["validation"]["loss"], abs=TOLERANCE)
    assert last["validation"]["seen"] == 43
    along_the_way = [metrics for part in told for metrics in part["training"]]
    assert [metrics["seen"] for metrics in along_the_way] == [22] * model.BATCHES
    for ours, theirs in zip(along_the_way, straight["training"], strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=TOLERANCE)

"""Grid search as a story: every point once, in order, so many at a time."""

from __future__ import annotations

from typing import Any

from resolute.proto.experiment import ReportEarlyExit, TrialCreated, TrialEnded
from tests.unit.searcher.story import EXPERIMENT, Story, created, given

SPACE = {
    "global_batch_size": 32,
    "layers": {"type": "int", "minval": 1, "maxval": 2, "count": 5},
    "net": {"act": {"type": "categorical", "vals": ["relu", "tanh"]}, "lr": {"type": "const", "val": 0.1}},
    "rate": {"type": "log", "base": 10, "minval": -2, "maxval": 0, "count": 3},
}


def grid(**changes: Any) -> Story:
    return given(created("grid", **{"hyperparameters": SPACE, "max_concurrent_trials": 4, **changes}))


def points(story: Story) -> list[tuple[object, ...]]:
    created = [event.hparams for event in story.events if isinstance(event, TrialCreated)]
    return [(each["layers"], each["net"]["act"], each["rate"]) for each in created]


def test_a_grid_is_walked_in_order_so_many_at_a_time() -> None:
    story = grid()
    assert points(story) == [(1, "relu", 0.01), (1, "relu", 0.1), (1, "relu", 1.0), (1, "tanh", 0.01)]
    for trial_id in range(1, 13):
        story = story.exits(trial_id)
        assert len(story.experiment.open) <= 4
    assert points(story)[-1] == (2, "tanh", 1.0)
    assert len(set(points(story))) == 12
    assert story.experiment.state.name == "COMPLETED"


def test_a_point_that_is_invalid_is_left_out() -> None:
    story = grid(max_concurrent_trials=0).when(ReportEarlyExit(EXPERIMENT, 3, "INVALID_HP")).exits(3)
    assert isinstance(story.last[-1], TrialEnded)
    for trial_id in (1, 2, *range(4, 13)):
        story = story.exits(trial_id)
    assert len(points(story)) == 12
    assert story.experiment.method.progress() == 1.0
    assert story.experiment.state.name == "COMPLETED"


def test_a_grid_without_a_valid_point_is_an_error() -> None:
    space = {"a": {"type": "categorical", "vals": [1, 2]}}
    story = grid(hyperparameters=space)
    for trial_id in (1, 2):
        story = story.when(ReportEarlyExit(EXPERIMENT, trial_id, "INVALID_HP")).exits(trial_id)
    assert (story.experiment.state.name, story.experiment.reason) == (
        "ERROR",
        "2 trials reported their hyperparameters as invalid",
    )

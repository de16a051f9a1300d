"""One choice from a search space, for trying a trial out."""

from __future__ import annotations

import determined as det
from determined._trial import any_choice


def test_a_space_gives_the_same_values_each_time() -> None:
    space = {
        "constant": 3,
        "const": {"type": "const", "val": "x"},
        "categorical": {"type": "categorical", "vals": [16, 32]},
        "int": {"type": "int", "minval": 2, "maxval": 8},
        "log": {"type": "log", "base": 10, "minval": -3, "maxval": -1},
        "nested": {"double": {"type": "double", "minval": 0.5, "maxval": 1}},
    }
    assert any_choice(space) == {
        "constant": 3,
        "const": "x",
        "categorical": 16,
        "int": 2,
        "log": 0.001,
        "nested": {"double": 0.5},
    }


def test_a_context_for_trying_out_knows_its_configuration() -> None:
    context = det.TrialContext.from_config({"hyperparameters": {"lr": 1}, "data": {"url": "x"}})
    assert context.get_hparam("lr") == 1
    assert context.get_data_config() == {"url": "x"}
    assert context.get_initial_batch() == 0

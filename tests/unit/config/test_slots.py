"""A trial may ask for a range of slots."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from resolute.api.experiments.configurations import both_without_secrets, without_secrets
from resolute.config import ClusterDefaults, Slots, parse_experiment, slots_of
from resolute.config.experiment import ExperimentConfig
from resolute.proto.errors import InvalidConfig
from resolute.search.settings import Settings
from tests.unit.config.test_experiment import submitted

STORAGE = {"type": "shared_fs", "host_path": "/shared"}


def parsed(slots: Any, **resources: Any) -> ExperimentConfig:
    return parse_experiment(
        submitted(resources={"slots_per_trial": slots, **resources}), ClusterDefaults(checkpoint_storage=STORAGE)
    )


def test_a_range_is_kept_as_it_is_and_one_of_a_single_number_is_that_number() -> None:
    config = parsed({"min": 2, "max": 4})
    assert config.merged["resources"]["slots_per_trial"] == {"min": 2, "max": 4}
    assert (config.resources.slots_min, config.resources.slots_per_trial) == (2, 4)
    assert parsed({"min": 3, "max": 3}).merged["resources"]["slots_per_trial"] == 3
    assert parsed(2).resources.slots_min == 2
    assert slots_of({}) == Slots(1, 1)


def test_the_search_asks_for_the_range() -> None:
    settings = Settings.of(parsed({"min": 2, "max": 4}).merged)
    assert (settings.slots, settings.slots_min) == (4, 2)
    assert (Settings.of(parsed(4).merged).slots_min, Settings.of(parsed(0).merged).slots) == (None, 0)


@pytest.mark.parametrize(
    ("slots", "more", "told"),
    [
        ({"min": 4, "max": 2}, {}, "resources.slots_per_trial.min: expected at most resources.slots_per_trial.max (2)"),
        ({"min": 0, "max": 2}, {}, "resources.slots_per_trial.min: expected a whole number of at least 1"),
        ({"min": 2}, {}, "resources.slots_per_trial.max: missing. A range has both ends"),
        ({"least": 2, "max": 4}, {}, "resources.slots_per_trial.least: unknown field"),
        (
            {"min": 2, "max": 4},
            {"max_slots": 1},
            "resources.max_slots: expected at least resources.slots_per_trial (2)",
        ),
        ("two", {}, "resources.slots_per_trial: expected a whole number"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused_with_its_field(
    slots: dict[str, Any] | str, more: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parsed(slots, **more)
    assert told in str(refused.value)


def test_clients_that_know_numbers_see_the_largest() -> None:
    document = '{"name": "x", "resources": {"slots_per_trial": {"max": 4, "min": 2}, "max_slots": null}}'
    shown = orjson.loads(orjson.dumps(without_secrets(document)))
    assert shown == {"name": "x", "resources": {"slots_per_trial": 4, "max_slots": None}}
    config, text = both_without_secrets(document, "slots_per_trial: {min: 2, max: 4}")
    assert (orjson.loads(orjson.dumps(config)), text) == (shown, "slots_per_trial: {min: 2, max: 4}")
    plain = '{"resources": {"slots_per_trial": 4}}'
    assert orjson.dumps(without_secrets(plain)).decode() == plain, "it goes out as it is"

"""Whatever is submitted is either taken or refused in words: nothing else comes out of the parser."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from resolute.config import ClusterDefaults, ExperimentConfig, from_merged, merge, parse_experiment
from resolute.config.fields import EXPERIMENT
from resolute.config.problems import Problems
from resolute.proto.errors import InvalidConfig

CLUSTER = ClusterDefaults(checkpoint_storage={"type": "shared_fs", "host_path": "/shared"}, created_at_s=1)

leaves = st.one_of(st.none(), st.booleans(), st.integers(-5, 200), st.floats(), st.text(max_size=4))
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
field_names = st.sampled_from(sorted(EXPERIMENT.fields))
searchers = st.dictionaries(
    st.sampled_from(sorted(EXPERIMENT.fields["searcher"].node.fields)),  # type: ignore[attr-defined]
    st.one_of(anything, st.sampled_from(["single", "random", "adaptive_asha", "async_halving"])),
)
configs = st.dictionaries(field_names, anything, max_size=6) | searchers.map(lambda s: {"searcher": s})


@given(configs)
def test_any_configuration_is_taken_or_refused_in_words(raw: dict[str, Any]) -> None:
    complete = {"entrypoint": "python3 a.py", "searcher": {"name": "single", "metric": "m"}, **raw}
    outcome = parsed(complete)
    if isinstance(outcome, InvalidConfig):
        assert all(": " in line for line in outcome.message.splitlines())
    else:
        assert (
            from_merged(json.loads(json.dumps(outcome.merged, allow_nan=False)), warnings=outcome.warnings) == outcome
        )


SOUND = {"metric": "m", "max_length": {"batches": 100}, "max_trials": 4, "divisor": 2.5}
ODD = [0, 1.01, 1e308, 2**31, 10**30, 10**400, {"batches": 10**400}, [10**6], {"type": ["int"]}]


@given(st.sampled_from(sorted(SOUND)), anything | st.sampled_from(ODD), st.integers(1, 10**9))
def test_a_search_with_one_odd_field_is_taken_or_refused_in_words(name: str, odd: Any, rungs: int) -> None:
    """A refused field leads nowhere else: what is reckoned from a search's fields is reckoned from sound ones."""
    for method in ({"name": "adaptive_asha", "max_rungs": rungs}, {"name": "asha", "num_rungs": rungs}):
        searcher = {**SOUND, **method, name: odd}
        outcome = parsed({"entrypoint": "a", "searcher": searcher, "hyperparameters": {"x": odd}})
        if not isinstance(outcome, InvalidConfig):
            json.dumps(outcome.merged, allow_nan=False)


def parsed(raw: dict[str, Any]) -> ExperimentConfig | InvalidConfig:
    try:
        return parse_experiment(raw, CLUSTER)
    except InvalidConfig as refused:
        return refused


@given(configs, configs, configs)
def test_merging_layers_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    top, middle, bottom = (EXPERIMENT.read(layer, "", Problems()) for layer in (a, b, c))
    for layer in (top, middle, bottom):
        for whole in ("searcher", "checkpoint_storage"):
            layer.pop(whole, None)  # whose kind decides, so that a layer between two may cut them apart
    assert _set_like(merge(merge(top, middle), bottom)) == _set_like(merge(top, merge(middle, bottom)))


@given(configs)
def test_a_layer_over_itself_or_nothing_keeps_its_scalars(raw: dict[str, Any]) -> None:
    layer = EXPERIMENT.read(raw, "", Problems())
    assert _set_like(merge(layer, {})) == _set_like(merge({}, layer)) == _set_like(layer)


def _set_like(config: dict[str, Any]) -> str:
    """Maps compare without regard to the order of their keys."""
    return json.dumps(config, sort_keys=True)

"""Layers of configuration: which value stands when several are given."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import load_yaml, masked, masked_yaml, merge

CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("the upper scalar wins", {"a": 1}, {"a": 2, "b": 3}, {"a": 1, "b": 3}),
    ("null is unset", {"a": None}, {"a": 2}, {"a": 2}),
    ("false is set", {"a": False}, {"a": True}, {"a": False}),
    ("maps merge key by key", {"m": {"x": 1}}, {"m": {"x": 2, "y": 2}}, {"m": {"x": 1, "y": 2}}),
    ("other lists are replaced", {"l": [1]}, {"l": [2]}, {"l": [1]}),
    ("labels unite", {"labels": ["b"]}, {"labels": ["a", "b"]}, {"labels": ["a", "b"]}),
    (
        "mounts add up, one for each place in the container",
        {"bind_mounts": [{"container_path": "/a", "host_path": "/mine"}]},
        {"bind_mounts": [{"container_path": "/a", "host_path": "/theirs"}, {"container_path": "/b"}]},
        {"bind_mounts": [{"container_path": "/a", "host_path": "/mine"}, {"container_path": "/b"}]},
    ),
    (
        "variables add up, the upper last so that it wins",
        {"environment": {"environment_variables": {"cpu": ["A=1"]}}},
        {"environment": {"environment_variables": {"cpu": ["A=2"], "cuda": ["B=1"]}}},
        {"environment": {"environment_variables": {"cpu": ["A=2", "A=1"], "cuda": ["B=1"]}}},
    ),
    (
        "log policies unite by name",
        {"log_policies": [{"name": "x", "pattern": None}]},
        {"log_policies": [{"name": "x", "pattern": "p"}, {"name": "y"}]},
        {"log_policies": [{"name": "x", "pattern": None}, {"name": "y"}]},
    ),
    (
        "a searcher of another kind takes only the common fields",
        {"searcher": {"name": "single"}},
        {"searcher": {"name": "random", "metric": "loss", "max_trials": 4}},
        {"searcher": {"name": "single", "metric": "loss"}},
    ),
    (
        "a searcher of the same kind merges, a length as one thing",
        {"searcher": {"name": "random", "max_length": {"epochs": 1}}},
        {"searcher": {"name": "random", "max_length": {"batches": 9}, "max_trials": 4}},
        {"searcher": {"name": "random", "max_length": {"epochs": 1}, "max_trials": 4}},
    ),
    (
        "a range replaces a range whole",
        {"hyperparameters": {"lr": {"type": "const", "val": 1}}},
        {"hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1}, "b": {"type": "const", "val": 2}}},
        {"hyperparameters": {"lr": {"type": "const", "val": 1}, "b": {"type": "const", "val": 2}}},
    ),
]


@pytest.mark.parametrize(("upper", "lower", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_merging(upper: dict[str, Any], lower: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merge(upper, lower) == expected


def test_merging_changes_neither_layer() -> None:
    upper: dict[str, Any] = {"m": {"x": [1]}}
    lower: dict[str, Any] = {"n": {"y": [2]}}
    merged = merge(upper, lower)
    merged["m"]["x"].append(9)
    merged["n"]["y"].append(9)
    assert (upper, lower) == ({"m": {"x": [1]}}, {"n": {"y": [2]}})


def test_secrets_are_masked_in_a_copy() -> None:
    config = {
        "data": {"secrets": {"token": "t", "n": 1}, "url": "u"},
        "checkpoint_storage": {"access_key": "a", "secret_key": "s", "connection_string": None, "bucket": "b"},
        "environment": {"registry_auth": {"username": "me", "password": "p"}},
        "integrations": None,
    }
    shown = masked(config)
    assert shown["data"] == {"secrets": {"token": "********", "n": "********"}, "url": "u"}
    assert shown["checkpoint_storage"] == {
        "access_key": "********", "secret_key": "********", "connection_string": None, "bucket": "b",
    }  # fmt: skip
    assert shown["environment"]["registry_auth"] == {"username": "me", "password": "********"}
    assert config["checkpoint_storage"]["secret_key"] == "s"  # type: ignore[index]


def test_a_configuration_as_it_was_written_hides_its_secrets_too() -> None:
    plain = "name: plain   # as I like it\nhyperparameters: {lr: 1e-3}\n"
    assert masked_yaml(plain) == plain
    secret = "name: a\nenvironment:\n  registry_auth: {username: me, password: hunter2}\ndata: {secrets: {k: v2}}\n"
    shown = masked_yaml(secret)
    assert "hunter2" not in shown
    assert "v2" not in shown
    assert load_yaml(shown) == masked(load_yaml(secret))

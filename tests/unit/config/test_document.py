"""YAML as people write it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from resolute.config import ClusterDefaults, load_yaml, masked_yaml, parse_experiment
from resolute.proto.errors import InvalidConfig


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001), ("1e5", 1e5), (".5", 0.5), ("010", 10), ("0o10", 8), ("0x1f", 31), ("1_000", 1000),
        ("true", True), ("yes", "yes"), ("on", "on"), ("2024-01-01", "2024-01-01"), ("12:30:00", "12:30:00"),
        ("~", None), ("", None), ("'1'", "1"), ("0.1.2", "0.1.2"), ("-1", -1),
    ],
)  # fmt: skip
def test_scalars_mean_what_yaml_1_2_says(text: str, value: Any) -> None:
    assert load_yaml(f"key: {text}") == {"key": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "line 1, column 6: "),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' appears twice; keep one"),
        ("a:\n  b: 1\n  b: 2", "line 3, column 3: the key 'b' appears twice; keep one"),
        ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
        ("a:\n\t- b", "line 2, column 1: found character '\\t'"),
        ("- 1", "line 1, column 1: expected an object (name: value lines); found a list"),
        ("a: !!python/object:os.system x", "line 1, column 4: could not determine a constructor"),
        ("a: &x [*x]", "line 1, column 8: the alias *x stands inside what it names"),
        ("[" * 5000, "line 1, column 51: objects and lists are nested more than 50 deep, which is the limit"),
        ("\0", "this is not YAML"),
    ],
)
def test_broken_yaml_is_told_with_line_and_column(text: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        load_yaml(text)
    assert refused.value.message.startswith(message)


def test_anchors_and_merge_keys_work_and_may_be_overridden() -> None:
    assert load_yaml("base: &b {x: 1, y: 1}\nuse: {<<: *b, y: 2}")["use"] == {"x": 1, "y": 2}


def test_an_empty_document_is_an_empty_object() -> None:
    assert load_yaml("# nothing yet\n") == {}


SEARCH = "\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nentrypoint: train\n"
STORAGE = {"type": "shared_fs", "host_path": "/tmp"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "x" * 2**20, "the configuration has 1,048,579 bytes; the limit is 1,048,576"),
        ("a: [" + "1," * 20_001 + "]", "holds more than 20,000 keys and values, which is the limit"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 50 deep, which is the limit"),
        ("a: " + "[" * 500_000, "nested more than 50 deep, which is the limit"),
        (
            "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9) if n else 'x'}]" for n in range(10)),
            "holds more than 20,000 keys and values",
        ),
        (
            "\n".join(
                f"a{n}: &a{n} {{{'<<: [' + ','.join([f'*a{n - 1}'] * 9) + ']' if n else 'x: 1'}}}" for n in range(9)
            ),
            "holds more than 20,000 keys and values",
        ),
    ],
    ids=["bytes", "values", "levels", "very many levels", "aliases", "merged aliases"],
)
def test_a_text_beyond_a_bound_is_refused_quickly_and_the_bound_is_named(text: str, message: str) -> None:
    began_at = time.process_time()
    with pytest.raises(InvalidConfig) as refused:
        load_yaml(text)
    assert message in refused.value.message
    assert time.process_time() - began_at < 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"labels: [{','.join(f'l{n}' for n in range(1001))}]",
            "labels: expected a list of at most 1,000 items; found 1,001",
        ),
        (f"labels: [{'l' * 1001}]", "labels[0]: expected text of at most 1,000 characters; found 1,001"),
        (f"name: {'n' * 1001}", "name: expected text of at most 1,000 characters; found 1,001"),
        (
            "hyperparameters: {" + ",".join(f"h{n}: 1" for n in range(2001)) + "}",
            "hyperparameters: expected at most 2,000 hyperparameters; found 2,001",
        ),
        (
            "hyperparameters: {g: {" + ",".join(f"h{n}: 1" for n in range(2001)) + "}}",
            "hyperparameters: expected at most 2,000 hyperparameters; found 2,002",
        ),
        (f"hyperparameters: {{{'h' * 1001}: 1}}", "hyperparameters: expected names of at most 1,000 characters"),
        (
            f"environment: {{environment_variables: [{','.join('A=' + 'x' * 60_000 for _ in range(9))}]}}",
            "environment.environment_variables: expected at most 500,000 bytes of variables; found 540,018",
        ),
        ("\n".join(f"unknown{n}: 1" for n in range(9_900)), "reading stopped after 100 problems"),
    ],
    ids=["labels", "a label", "a name", "hyperparameters", "nested ones", "its name", "variables", "problems"],
)
def test_a_configuration_beyond_a_bound_is_refused_quickly_and_the_bound_is_named(text: str, message: str) -> None:
    began_at = time.process_time()
    with pytest.raises(InvalidConfig) as refused:
        parse_experiment(load_yaml(text + SEARCH), ClusterDefaults(checkpoint_storage=STORAGE))
    assert message in refused.value.message
    assert time.process_time() - began_at < 10


def test_a_search_whose_trials_repeat_a_large_constant_too_often_is_refused() -> None:
    text = f"""
hyperparameters: {{table: [{",".join("12345678" for _ in range(10_000))}], lr: {{type: double, minval: 0, maxval: 1}}}}
searcher: {{name: random, metric: loss, max_trials: 50000, max_length: {{batches: 1}}}}
entrypoint: train
"""
    with pytest.raises(InvalidConfig, match=r"50,000 trials with up to 100,0.. bytes .* 1,000,000,000 is the limit"):
        parse_experiment(load_yaml(text), ClusterDefaults(checkpoint_storage=STORAGE))


def test_a_block_of_text_may_begin_with_a_tab_which_libyaml_alone_refuses() -> None:
    assert load_yaml("entrypoint: |\n  \tmake train\n") == {"entrypoint": "\tmake train\n"}


def test_a_text_from_before_the_bounds_is_hidden_whole_where_secrets_are_hidden() -> None:
    assert masked_yaml("data: {secrets: {token: hush}}\nlabels: [" + "l," * 40_000 + "]") == "********"

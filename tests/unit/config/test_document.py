"""YAML as people write it."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import load_yaml
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
        ("a: &x [*x]", "with its aliases expanded the document holds more than 100,000 values"),
        ("[" * 5000, "this is not YAML"),
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

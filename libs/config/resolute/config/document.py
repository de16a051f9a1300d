"""Reading YAML as people write it: YAML 1.2 scalars, no duplicate keys, errors with line and column."""

from __future__ import annotations

import re
from typing import Any

import yaml

from resolute.proto.errors import InvalidConfig

_MOST_VALUES = 100_000
_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2: `1e-3` is a number, `yes` and `2024-01-01` are text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise _invalid(f"a key must be text, found {key!r}", key_node.start_mark)
            if key in seen:
                raise _invalid(f"the key {key!r} appears twice; keep one", key_node.start_mark)
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _resolve(tag: str, pattern: str, first: str) -> None:
    matcher = re.compile(f"^(?:{pattern})$")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", matcher, list(first))


_Loader.yaml_implicit_resolvers = {}  # its own, before any is added
_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", "[-+]?[0-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+", "-+0123456789")
_resolve("float", _NUMBER + "|" + r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+0123456789.")
_resolve("null", "~|null|Null|NULL", "~nN")
_resolve("merge", "<<", "<")
_Loader.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile("^$")))


def _construct_int(loader: _Loader, node: Any) -> int:
    """A whole number in base 10, 16 or 8; a leading zero is only a zero (YAML 1.1 read `010` as eight)."""
    text = str(node.value).replace("_", "")
    base = 16 if text.startswith("0x") else 8 if text.startswith("0o") else 10
    return int(text, base)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


def load_yaml(text: str) -> dict[str, Any]:
    """The document in `text`, an object; an empty document is an empty object.

    A key without a value is None, which everywhere in a configuration means unset.
    Raises InvalidConfig, saying line and column, when the text is not YAML, repeats a key or is no object.
    """
    try:
        document = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _invalid(error.problem or "this is not YAML", error.problem_mark) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: `!!int x`
        raise InvalidConfig(f"this is not YAML: {error}") from error
    if document is None:
        return {}
    _check_size(document)
    if not isinstance(document, dict):
        kind = "a list" if isinstance(document, list) else f"{document!r}"
        raise InvalidConfig(f"line 1, column 1: expected an object (name: value lines); found {kind[:60]}")
    return document


def _check_size(document: Any) -> None:
    """Refuse what aliases blow up, or make endless, before anything walks it."""
    waiting, seen = [document], 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if seen > _MOST_VALUES:
            raise InvalidConfig(f"with its aliases expanded the document holds more than {_MOST_VALUES:,} values")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _invalid(problem: str, mark: Any) -> InvalidConfig:
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return InvalidConfig(f"{where}{problem}")

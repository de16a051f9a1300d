"""Reading YAML as people write it: YAML 1.2 scalars, no duplicate keys, errors with line and column.

libyaml does the reading, some ten times as fast as Python would. A first pass over its events counts values, levels and
what aliases expand to, and stops where a bound is passed; only a text within all bounds is built into a document.
libyaml builds documents by a function that calls itself, so the first pass is also what keeps a text of a hundred
thousand brackets from exhausting the process's stack.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from resolute.proto.errors import InvalidConfig

from . import bounds
from .collection import no_collection

_SLOW_CHARACTERS_MAX = 65_536
_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"


def _construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool | None):
            raise _invalid(f"a key must be text, found {key!r}", key_node.start_mark)
        if key in seen:
            raise _invalid(f"the key {key!r} appears twice; keep one", key_node.start_mark)
        seen.add(key)
    mapping: dict[Any, Any] = yaml.SafeLoader.construct_mapping(loader, node, deep=deep)
    return mapping


def _construct_int(loader: Any, node: Any) -> int:
    """A whole number in base 10, 16 or 8; a leading zero is only a zero (YAML 1.1 read `010` as eight)."""
    text = str(node.value).replace("_", "")
    base = 16 if text.startswith("0x") else 8 if text.startswith("0o") else 10
    return int(text, base)


def _resolver(pattern: str) -> re.Pattern[str]:
    return re.compile(f"^(?:{pattern})$")


_SCALARS = (
    ("bool", _resolver("true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("int", _resolver("[-+]?[0-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+"), "-+0123456789"),
    ("float", _resolver(_NUMBER + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), "-+0123456789."),
    ("null", _resolver("~|null|Null|NULL"), "~nN"),
    ("merge", _resolver("<<"), "<"),
    ("null", _resolver(""), ("",)),
)
"""The scalars of YAML 1.2, with what they may begin with: `1e-3` is a number, `yes` and `2024-01-01` are text."""


class _Loader(yaml.CSafeLoader):
    construct_mapping = _construct_mapping


class _SlowLoader(yaml.SafeLoader):
    construct_mapping = _construct_mapping


for _loader in (_Loader, _SlowLoader):
    _loader.yaml_implicit_resolvers = {}  # its own, before any is added
    for _tag, _pattern, _first in _SCALARS:
        _loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, list(_first))
    _loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


def load_yaml(text: str) -> dict[str, Any]:
    """The document in `text`, an object; an empty document is an empty object.

    A key without a value is None, which everywhere in a configuration means unset.
    Raises InvalidConfig, saying line and column, when the text is not YAML, repeats a key or is no object, and for
    a text beyond the bounds of a configuration. Takes up to half a second: off the event loop with it.
    """
    bounds.check_text(text)
    try:
        with no_collection():
            document = _load(text)
    except yaml.MarkedYAMLError as error:
        raise _invalid(error.problem or "this is not YAML", error.problem_mark) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: `!!int x`
        raise InvalidConfig(f"this is not YAML: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        kind = "a list" if isinstance(document, list) else f"{document!r}"
        raise InvalidConfig(f"line 1, column 1: expected an object (name: value lines); found {kind[:60]}")
    return document


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a text that `load_yaml` has read, which say where each value stands."""
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return yaml.compose(text, Loader=_SlowLoader)


def _load(text: str) -> Any:
    """The document in `text`, read by libyaml, or in Python where libyaml refuses a short text.

    libyaml refuses a few texts that are YAML (a block of text whose first line begins with a tab), and its errors say
    less. Reading a long text in Python would take seconds.
    """
    try:
        _check_bounds(text, _Loader)
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError:
        if len(text) > _SLOW_CHARACTERS_MAX:
            raise
    _check_bounds(text, _SlowLoader)
    return yaml.load(text, Loader=_SlowLoader)


def _check_bounds(text: str, loader: Any) -> None:
    """Refuse too many values, too many levels, and what aliases blow up or make endless, before anything is built."""
    seen = _Seen()
    for event in yaml.parse(text, Loader=loader):
        match event:
            case yaml.ScalarEvent():
                seen.scalar(event.anchor)
            case yaml.CollectionStartEvent():
                seen.begin(event)
            case yaml.CollectionEndEvent():
                seen.end()
            case yaml.AliasEvent():
                seen.alias(event)


class _Seen:
    """How many keys and values have been met, aliases expanded, and how many each anchor stands for."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str | None, int]] = []
        """The collections around the next event: the anchor of each, and the count before it."""
        self._sizes: dict[str, int] = {}

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > bounds.VALUES_MAX:
            raise bounds.too_many_values()

    def scalar(self, anchor: str | None) -> None:
        self._add(1)
        if anchor:
            self._sizes[anchor] = 1

    def begin(self, event: Any) -> None:
        self._open.append((event.anchor, self._count))
        if len(self._open) > bounds.NESTING_MAX:
            raise bounds.too_deep(_where(event.start_mark))
        self._add(1)

    def end(self) -> None:
        anchor, before = self._open.pop()
        if anchor:
            self._sizes[anchor] = self._count - before

    def alias(self, event: Any) -> None:
        if any(anchor == event.anchor for anchor, _ in self._open):
            raise _invalid(f"the alias *{event.anchor} stands inside what it names", event.start_mark)
        self._add(self._sizes.get(event.anchor, 1))


def _invalid(problem: str, mark: Any) -> InvalidConfig:
    return InvalidConfig(f"{_where(mark)}{problem}")


def _where(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""

"""`--config key=value`: single fields of a configuration, set from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from resolute.cli.errors import CliError


def apply(config: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The configuration with every `dotted.key=value` set, in order; what lies on the way is made."""
    result = dict(config)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise CliError(f"--config {override!r}: expected key=value, as in searcher.max_length.batches=100")
        result = _set(result, key.split("."), value(text), key)
    return result


def value(text: str) -> Any:
    """JSON where it is JSON, YAML within braces or brackets, a list where commas split it, text otherwise."""
    try:
        return json.loads(text)
    except ValueError:
        if text.startswith(("{", "[")):
            return _flow(text)
        return [value(part.strip()) for part in text.split(",")] if "," in text else _word(text)


def _flow(text: str) -> Any:
    """`{type: int, minval: 1}` as it would be read in a file."""
    from resolute.config.document import load_yaml
    from resolute.proto.errors import InvalidConfig

    try:
        return load_yaml(f"value: {text}")["value"]
    except InvalidConfig as error:
        raise CliError(f"--config: expected YAML within the braces or brackets of {text!r}; {error.message}") from error


def _word(text: str) -> Any:
    return {"True": True, "False": False, "None": None}.get(text, text)


def _set(config: Mapping[str, Any], path: Sequence[str], new: Any, key: str) -> dict[str, Any]:
    head, *rest = path
    if not rest:
        return {**config, head: new}
    below = config.get(head) or {}
    if not isinstance(below, Mapping):
        raise CliError(f"--config {key}: {head!r} is {below!r}, which has no fields to set")
    return {**config, head: _set(below, rest, new, key)}

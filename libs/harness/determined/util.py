"""Small helpers of several parts of the library: JSON with NaN and infinities, configurations without secrets."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

MASK = "********"
_SECRETS = (  # as in libs/config, which this cannot import: a test compares them
    ("data", "secrets", "*"),
    ("checkpoint_storage", "access_key"),
    ("checkpoint_storage", "secret_key"),
    ("checkpoint_storage", "connection_string"),
    ("checkpoint_storage", "credential"),
    ("environment", "registry_auth", "password"),
    ("environment", "registry_auth", "auth"),
    ("environment", "registry_auth", "identitytoken"),
    ("environment", "registry_auth", "registrytoken"),
    ("integrations", "pachyderm", "dataset", "token"),
)


def to_wire(value: Any) -> Any:
    """`value` as plain JSON types: arrays and tensors by their numbers, NaN and infinities by their names.

    Anything with `tolist` or `item` (numpy, torch) is asked for its numbers, so neither has to be imported.
    Raises TypeError for what has no JSON form.
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else _name_of(value)
        case Mapping():
            return {str(key): to_wire(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [to_wire(item) for item in value]
    for numbers in ("tolist", "item"):
        if hasattr(value, numbers):
            return to_wire(getattr(value, numbers)())
    raise TypeError(f"a {type(value).__name__} has no JSON form; report numbers, strings, lists or dicts")


def _name_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_bytes(value: Any) -> bytes:
    """Compact JSON of `to_wire(value)`."""
    return json.dumps(to_wire(value), separators=(",", ":")).encode()


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of an experiment configuration that is safe to print."""
    copy: dict[str, Any] = json.loads(json.dumps(config))
    for path in _SECRETS:
        _mask(copy, path)
    environment = copy.get("environment")
    if isinstance(environment, dict) and environment.get("environment_variables"):
        environment["environment_variables"] = _masked_variables(environment["environment_variables"])
    return copy


def _masked_variables(stated: Any) -> Any:
    """Lines of NAME=VALUE, or such lines for each kind of device. Any value may be a secret."""
    if isinstance(stated, dict):
        return {kind: _masked_variables(lines) for kind, lines in stated.items()}
    if not isinstance(stated, list):
        return stated
    parts = [str(line).partition("=") for line in stated]
    return [f"{name}={MASK}" if value else f"{name}{equals}" for name, equals, value in parts]


def _mask(tree: Any, path: tuple[str, ...]) -> None:
    if not isinstance(tree, dict):
        return
    for name in list(tree) if path[0] == "*" else [path[0]]:
        if len(path) > 1:
            _mask(tree.get(name), path[1:])
        elif tree.get(name) is not None:
            tree[name] = MASK


def rank_of_environment() -> int:
    """The rank that a launcher gave this process, 0 where there is none."""
    for name in ("RANK", "HOROVOD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0

"""Laying one canonical configuration over another: the first layer that sets a value wins, with exceptions by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

Config = Mapping[str, Any]


def value_at(config: Any, path: tuple[str, ...]) -> Any:
    """What stands at `path` in a configuration; None where nothing does."""
    for name in path:
        config = (config or {}).get(name)
    return config


def merge(upper: Config, lower: Config) -> dict[str, Any]:
    """`upper` completed by `lower`; neither is changed. Both are canonical and hold no defaults.

    Maps merge key by key. Lists that add up (mounts, ports, labels, variables, log policies) do so as
    `_RULES` says. A searcher or storage of another kind takes only the common fields from below.
    """
    merged: dict[str, Any] = _merge(upper, lower, "")
    return merged


def _merge(upper: Any, lower: Any, path: str) -> Any:
    if upper is None or lower is None:
        return deepcopy(lower if upper is None else upper)
    if path in _RULES:
        return _RULES[path](upper, lower)
    if isinstance(upper, Mapping) and isinstance(lower, Mapping) and not _is_range(upper, lower, path):
        keys = [*upper, *(key for key in lower if key not in upper)]
        return {k: _merge(upper.get(k), lower.get(k), f"{path}.{k}" if path else k) for k in keys}
    return deepcopy(upper)


def _is_range(upper: Config, lower: Config, path: str) -> bool:
    """Two ranges for one hyperparameter: mixing the bounds of one with the type of the other means nothing."""
    return path.startswith("hyperparameters.") and ("type" in upper or "type" in lower)


def _by_kind(path: str, kind_key: str, common: Callable[[str], bool]) -> Callable[[Config, Config], dict[str, Any]]:
    def rule(upper: Config, lower: Config) -> dict[str, Any]:
        kind, other = upper.get(kind_key), lower.get(kind_key)
        if kind is not None and other is not None and kind != other:
            lower = {key: value for key, value in lower.items() if common(key)}
        keys = [*upper, *(key for key in lower if key not in upper)]
        return {key: _merge(upper.get(key), lower.get(key), f"{path}.{key}") for key in keys}

    return rule


def _union_by(key: str) -> Callable[[list[Config], list[Config]], list[Any]]:
    """Upper first, then what lower adds under other values of `key`."""

    def rule(upper: list[Config], lower: list[Config]) -> list[Any]:
        taken = {item.get(key) for item in upper}
        return deepcopy([*upper, *(item for item in lower if item.get(key) not in taken)])

    return rule


def _upper_alone(upper: Any, lower: Any) -> Any:
    return deepcopy(upper)


def _lower_first(upper: list[Any], lower: list[Any]) -> list[Any]:
    return deepcopy([*lower, *upper])


def _union_of_text(upper: list[str], lower: list[str]) -> list[str]:
    return sorted({*upper, *lower})


_IS_COMMON_IN_SEARCHER = {
    "metric",
    "smaller_is_better",
    "source_trial_id",
    "source_checkpoint_uuid",
}.__contains__
_VARIABLES = "environment.environment_variables"

_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "bind_mounts": _union_by("container_path"),
    "resources.devices": _union_by("container_path"),
    "environment.proxy_ports": _union_by("proxy_port"),
    "log_policies": _union_by("name"),
    "labels": _union_of_text,
    f"{_VARIABLES}.cpu": _lower_first,
    f"{_VARIABLES}.cuda": _lower_first,
    f"{_VARIABLES}.rocm": _lower_first,
    "slurm.sbatch_args": _lower_first,
    "pbs.pbsbatch_args": _lower_first,
    # a length is one thing: batches from one layer and epochs from another make none
    "min_validation_period": _upper_alone,
    "min_checkpoint_period": _upper_alone,
    "searcher.max_length": _upper_alone,
    "searcher": _by_kind("searcher", "name", _IS_COMMON_IN_SEARCHER),
    "checkpoint_storage": _by_kind("checkpoint_storage", "type", lambda key: key.startswith("save_")),
}

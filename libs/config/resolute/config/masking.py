"""Hiding secrets before a configuration is shown or logged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.proto.errors import InvalidConfig

from .secrets import MASK, VARIABLES_NAME, changed, changed_yaml


def masked(config: Mapping[str, Any], *, variables: bool = True) -> dict[str, Any]:
    """A copy of `config` in which every secret that is set reads `********`; `config` stays as it is.

    `variables`: whether the values of environment variables are hidden as well.
    """
    return changed(config, lambda name, value: _mask(name, value, variables))


def masked_defaults(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a cluster's or pool's `task_container_defaults`, which have the fields of an experiment's
    `environment`, in which every secret that is set reads `********`."""
    masked_environment: dict[str, Any] = masked({"environment": defaults})["environment"]
    return masked_environment


def masked_yaml(text: str, *, variables: bool = True) -> str:
    """A configuration as somebody wrote it, in which every secret that is set reads `********`.

    All of a text that was accepted before there were bounds, and is beyond one, reads so.
    """
    try:
        return changed_yaml(text, lambda name, value: _mask(name, value, variables))
    except InvalidConfig:
        return MASK


def _mask(name: str, value: Any, variables: bool) -> Any:
    return value if not variables and name.startswith(VARIABLES_NAME + ".") else MASK

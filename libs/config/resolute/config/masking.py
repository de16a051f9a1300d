"""Hiding secrets before a configuration is shown or logged."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import yaml

from .document import load_yaml

MASK = "********"
_SECRETS = (
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


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `config` in which every secret that is set reads `********`; `config` stays as it is."""
    shown = deepcopy(dict(config))
    for path in _SECRETS:
        _mask(shown, path)
    return shown


def masked_yaml(text: str) -> str:
    """A configuration as somebody wrote it; where secrets are set in it, written anew with each as `********`."""
    read = load_yaml(text)
    shown = masked(read)
    return text if shown == read else str(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True))


def _mask(value: Any, path: tuple[str, ...]) -> None:
    if not isinstance(value, dict):
        return
    for name in list(value) if path[0] == "*" else [path[0]]:
        if len(path) > 1:
            _mask(value.get(name), path[1:])
        elif value.get(name) is not None:
            value[name] = MASK

"""A new experiment as the master takes it: the configuration as YAML, and the files of the context directory."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

from determined.common import context


def body_of(
    config: str | pathlib.Path | dict[str, Any],
    model_dir: str | pathlib.Path | None,
    includes: Iterable[str | pathlib.Path] | None,
) -> dict[str, Any]:
    """The request for an experiment that starts at once."""
    root = None if model_dir is None else pathlib.Path(model_dir)
    files = context.gather(root, [pathlib.Path(each) for each in includes or ()])
    return {"activate": True, "config": _text(config), "modelDefinition": context.to_model_definition(files)}


def _text(config: str | pathlib.Path | dict[str, Any]) -> str:
    if isinstance(config, (str, pathlib.Path)):
        return pathlib.Path(config).read_text()
    if isinstance(config, dict):
        return json.dumps(config)  # every JSON document is a YAML document
    raise ValueError(f"config: expected a path or a dict; found {type(config).__name__}")

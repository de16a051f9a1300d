"""What the layers of a submission say before they are read: a value that is needed to choose the layers below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Stated:
    """`layers`, the upper ones first, as they were written: they may be wrong. The first that says something wins."""

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        self._layers = layers

    def at(self, *path: str) -> Any:
        """None where no layer says anything."""
        return next((found for layer in self._layers if (found := _within(layer, path)) is not None), None)


def _within(layer: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        layer = layer.get(name) if isinstance(layer, Mapping) else None
    return layer

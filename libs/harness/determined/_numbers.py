"""Reads a metric as a number, from a plain number, an array or a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def mean_of(value: Any) -> float | None:
    """A number as it is; for an array, a tensor or nested lists the mean of all elements.

    None for values that are not numbers: booleans, text, None, and empty lists. numpy and torch are not imported: any
    object with `tolist` or `item` is converted by it.
    """
    elements = list(_elements(value))
    if not elements or any(element is None for element in elements):
        return None
    return float(sum(elements) / len(elements)) if len(elements) > 1 else float(elements[0])


def _elements(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        yield None
    elif isinstance(value, int | float):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _elements(one)
    elif hasattr(value, "tolist"):
        yield from _elements(value.tolist())
    elif hasattr(value, "item"):
        yield from _elements(value.item())
    else:
        yield None

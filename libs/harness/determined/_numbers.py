"""The number that a metric stands for, whatever the user's framework made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def mean_of(value: Any) -> float | None:
    """A number as it is; of an array, a tensor or nested lists the mean over all elements.

    None for what is not made of numbers: truth values, text, nothing at all. Whatever has `tolist` or `item` (numpy,
    torch) is asked for its numbers, so that neither has to be imported.
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

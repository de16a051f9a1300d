"""Which of the reported metrics TensorBoard shows, and under what tag."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from determined.tensorboard._writer import EventFileWriter


class BatchMetricWriter:
    """Writes the metrics that are numbers; text, lists and other values have no curve."""

    def __init__(self, writer: EventFileWriter) -> None:
        self._writer = writer

    def on_report(self, group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        scalars = {
            tag(group, name): number
            for name, value in metrics.items()
            if name not in ("batches", "epochs") and (number := _number(value)) is not None
        }
        if scalars:
            self._writer.add_scalars(steps_completed, scalars)

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def tag(group: str, name: str) -> str:
    """The tag of a metric: training metrics keep their names, validation metrics start with `val`, and metrics of other
    groups start with the name of the group."""
    match group:
        case "training":
            return name
        case "validation":
            return name if name.startswith("val") else f"val_{name}"
    return f"{group}/{name}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None or isinstance(value, str | bytes):
        return None
    if not isinstance(value, numbers.Real):
        if getattr(value, "size", None) != 1 and getattr(value, "shape", None) != ():
            return None
        value = value.item()
        if not isinstance(value, numbers.Real):
            return None
    return float(value)

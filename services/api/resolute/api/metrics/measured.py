"""The message that holds the metrics of one report. Messages about trials and checkpoints are built on it."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.fields import JsonObject, Needed, items
from resolute.api.kernel.messages import Input, Message


class Metrics(Message, wire_name="v1Metrics"):
    avg_metrics: JsonObject
    """By name: what was measured over all batches of the report."""
    batch_metrics: tuple[JsonObject, ...] = ()
    """Of each batch. Answers leave them empty."""


class GivenMetrics(Input, wire_name="v1Metrics"):
    """The same in requests."""

    avg_metrics: Needed[JsonObject | None] = None
    batch_metrics: Annotated[tuple[JsonObject, ...], items(100_000)] = ()

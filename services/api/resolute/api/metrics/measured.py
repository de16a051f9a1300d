"""The message that holds the metrics of one report. Messages about trials and checkpoints are built on it."""

from __future__ import annotations

from resolute.api.kernel.fields import JsonObject
from resolute.api.kernel.messages import Message


class Metrics(Message, wire_name="v1Metrics"):
    avg_metrics: JsonObject
    """By name: what was measured over all batches of the report."""
    batch_metrics: tuple[JsonObject, ...] = ()
    """Of each batch. Answers leave them empty."""

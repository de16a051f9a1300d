"""The place of trial classes and callbacks for Keras."""

from __future__ import annotations

from determined._adapters import missing

raise missing(
    "determined.keras", "a Keras callback of your own that reports and saves by the Core API (determined.core)"
)

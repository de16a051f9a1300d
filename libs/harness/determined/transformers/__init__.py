"""The place of the callback for Hugging Face's Trainer."""

from __future__ import annotations

from determined._adapters import missing

raise missing(
    "determined.transformers", "a TrainerCallback of your own that reports and saves by the Core API (determined.core)"
)

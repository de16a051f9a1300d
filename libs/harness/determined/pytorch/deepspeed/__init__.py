"""The place of trial classes for DeepSpeed."""

from __future__ import annotations

from determined._adapters import missing

raise missing(
    "determined.pytorch.deepspeed",
    "DeepSpeed in a script of your own, by the Core API (determined.core), as examples/deepspeed_toy does",
)

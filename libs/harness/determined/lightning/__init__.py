"""The place of what brings Lightning to the platform."""

from __future__ import annotations

from determined._adapters import missing

raise missing(
    "determined.lightning", "a Lightning callback of your own that reports and saves by the Core API (determined.core)"
)

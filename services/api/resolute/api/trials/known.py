"""What a gateway remembers of a trial that reports."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.trials.lookup_queries import TrialRef


@dataclass(frozen=True, slots=True)
class KnownTrial:
    """A trial that was looked up: `ref` never changes, but the trial may be deleted."""

    ref: TrialRef
    until_s: float
    position: int
    """Of the newest event that the trial was deleted which the look-up has seen; 0 for none."""

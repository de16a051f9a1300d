"""Trials: their logs, metrics and checkpoints."""

from __future__ import annotations

from determined.common.experimental._training import LogLevel as LogLevel
from determined.common.experimental._training import Trial as Trial
from determined.common.experimental._training import TrialOrderBy as TrialOrderBy
from determined.common.experimental._training import TrialReference as TrialReference
from determined.common.experimental._training import TrialSortBy as TrialSortBy
from determined.common.experimental._training import TrialState as TrialState

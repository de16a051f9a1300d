"""Experiments: what they are and what can be asked of them."""

from __future__ import annotations

from determined.common.experimental._training import TERMINAL_STATES as TERMINAL_STATES
from determined.common.experimental._training import Experiment as Experiment
from determined.common.experimental._training import ExperimentOrderBy as ExperimentOrderBy
from determined.common.experimental._training import ExperimentReference as ExperimentReference
from determined.common.experimental._training import ExperimentSortBy as ExperimentSortBy
from determined.common.experimental._training import ExperimentState as ExperimentState

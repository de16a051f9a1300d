"""Experiment configurations, search spaces and context directories: pure reading and checking."""

from __future__ import annotations

from .document import load_yaml
from .entrypoint import check_entrypoint, check_launcher, is_trial_class, missing_file
from .experiment import (
    ClusterDefaults,
    ExperimentConfig,
    Resources,
    Retention,
    from_merged,
    override,
    parse_experiment,
)
from .hyperparameters import Space, count_grid, grid, grid_point, parse_space, sample
from .lengths import Length
from .masking import masked, masked_defaults, masked_yaml
from .merge import merge, value_at
from .rungs import most_apart, most_rungs, rung_lengths
from .searcher import HALVING, OPEN_TRIALS_MAX, SearcherConfig
from .secrets import MASK, VARIABLES_NAME, changed, changed_yaml, secrets_of
from .slots import Slots, slots_of
from .stated import Stated
from .task import TaskConfig, TaskDefaults, parse_task, pool_of

__all__ = [
    "HALVING",
    "MASK",
    "OPEN_TRIALS_MAX",
    "VARIABLES_NAME",
    "ClusterDefaults",
    "ExperimentConfig",
    "Length",
    "Resources",
    "Retention",
    "SearcherConfig",
    "Slots",
    "Space",
    "Stated",
    "TaskConfig",
    "TaskDefaults",
    "changed",
    "changed_yaml",
    "check_entrypoint",
    "check_launcher",
    "count_grid",
    "from_merged",
    "grid",
    "grid_point",
    "is_trial_class",
    "load_yaml",
    "masked",
    "masked_defaults",
    "masked_yaml",
    "merge",
    "missing_file",
    "most_apart",
    "most_rungs",
    "override",
    "parse_experiment",
    "parse_space",
    "parse_task",
    "pool_of",
    "rung_lengths",
    "sample",
    "secrets_of",
    "slots_of",
    "value_at",
]

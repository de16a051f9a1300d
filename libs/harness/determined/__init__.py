"""The training library: model code imports it to report metrics, save checkpoints, and stop when the cluster asks.

Importing it is fast: its parts are loaded when they are first used, so that the start of a task, which needs only a few
of them, reaches user code quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from determined._version import __version__
from determined.constants import LOG_FORMAT

if TYPE_CHECKING:
    from determined import core as core
    from determined import errors as errors
    from determined import util as util
    from determined._env_context import EnvContext as EnvContext
    from determined._experiment_config import ExperimentConfig as ExperimentConfig
    from determined._import_path import import_from_path as import_from_path
    from determined._info import ClusterInfo as ClusterInfo
    from determined._info import RendezvousInfo as RendezvousInfo
    from determined._info import ResourcesInfo as ResourcesInfo
    from determined._info import TrialInfo as TrialInfo
    from determined._info import get_cluster_info as get_cluster_info
    from determined._invalid_hp import InvalidHP as InvalidHP
    from determined._trial import LegacyTrial as LegacyTrial
    from determined._trial import TrialContext as TrialContext
    from determined._trial import TrialController as TrialController

_HOME_OF = {
    "ClusterInfo": "determined._info",
    "EnvContext": "determined._env_context",
    "ExperimentConfig": "determined._experiment_config",
    "InvalidHP": "determined._invalid_hp",
    "LegacyTrial": "determined._trial",
    "RendezvousInfo": "determined._info",
    "ResourcesInfo": "determined._info",
    "TrialContext": "determined._trial",
    "TrialController": "determined._trial",
    "TrialInfo": "determined._info",
    "get_cluster_info": "determined._info",
    "import_from_path": "determined._import_path",
}
_SUBMODULES = ("core", "errors", "gpu", "util")

__all__ = ["LOG_FORMAT", "__version__", *sorted(_HOME_OF), *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"determined.{name}")
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'determined' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

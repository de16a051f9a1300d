"""The variables of Horovod's workers that can be computed without importing Horovod."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from determined.launch._layout import Rank

TIMEOUT_S = "300"
"""How long ranks wait for each other. They import packages at different speeds, and Horovod's default of 30 s is too
short on a busy host. A rank that has ended is noticed by the launchers."""
TUNED = frozenset({"HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME"})
"""Variables that keep Horovod from tuning a value automatically."""
REMEDY = "use an image that has it, or start the workers with determined.launch.torch_distributed"


def why_not_here() -> str | None:
    """Why this interpreter cannot use Horovod; None when it can."""
    if find_spec("horovod") is None:
        return f"Horovod is not installed for {sys.executable}: {REMEDY}"
    try:
        importlib.import_module("horovod.runner.launch")
    except ImportError as problem:
        return f"Horovod cannot be imported by {sys.executable} ({problem}): {REMEDY}"
    return None


def is_here_for_torch() -> bool:
    """Whether Horovod was built for torch, found without importing either."""
    spec = find_spec("horovod")
    places = spec.submodule_search_locations if spec is not None else None
    return any(_has_library(os.path.join(place, "torch")) for place in places or ())


def _has_library(folder: str) -> bool:
    try:
        return any(name.startswith("mpi_lib") and name.endswith(".so") for name in os.listdir(folder))
    except OSError:
        return False


def words_of(optimizations: Mapping[str, Any]) -> list[str]:
    """The settings of the configuration as flags of `horovodrun`. Flags on the command line override them."""
    if optimizations.get("auto_tune_tensor_fusion"):
        return ["--autotune"]
    words: list[str] = []
    if (threshold := optimizations.get("tensor_fusion_threshold")) is not None:
        words += ["--fusion-threshold-mb", str(threshold)]
    if (cycle := optimizations.get("tensor_fusion_cycle_time")) is not None:
        words += ["--cycle-time-ms", str(cycle)]
    return words


def merged(defaults: Mapping[str, str], chosen: Mapping[str, str], around: Mapping[str, str]) -> dict[str, str]:
    """The variables of the command line (`chosen`), and those of `defaults` that the environment does not set."""
    found = {"HOROVOD_GLOO_TIMEOUT_SECONDS": TIMEOUT_S, **defaults}
    if "HOROVOD_AUTOTUNE" in chosen:
        found = {name: value for name, value in found.items() if name not in TUNED}
    return {**{name: value for name, value in found.items() if name not in around}, **chosen}


def decided_by_the_cluster(parsed: Mapping[str, Any], size: int) -> Sequence[str]:
    """The given flags that say where workers run, which the cluster decides."""
    names = {
        "hosts": "-H",
        "hostfile": "--hostfile",
        "host_discovery_script": "--host-discovery-script",
        "min_num_proc": "--min-np",
        "max_num_proc": "--max-np",
        "use_mpi": "--mpi",
        "use_jsrun": "--jsrun",
    }
    surplus = [flag for name, flag in names.items() if parsed.get(name)]
    return [*surplus, *(["-np"] if parsed.get("num_proc") not in (None, size) else [])]


def host(container: int) -> str:
    """The name of a container for Horovod, which only compares such names and never resolves them."""
    return f"container-{container}"


def variables(rank: Rank) -> dict[str, str]:
    """The variables with the rank of a worker."""
    return {
        "HOROVOD_HOSTNAME": host(rank.container),
        "HOROVOD_RANK": str(rank.rank),
        "HOROVOD_SIZE": str(rank.size),
        "HOROVOD_LOCAL_RANK": str(rank.local_rank),
        "HOROVOD_LOCAL_SIZE": str(rank.local_size),
        "HOROVOD_CROSS_RANK": str(rank.cross_rank),
        "HOROVOD_CROSS_SIZE": str(rank.cross_size),
    }

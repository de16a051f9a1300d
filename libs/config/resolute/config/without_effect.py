"""Settings of an experiment that are valid and have no effect where it runs: which of them a submission has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .fields import EXPERIMENT
from .nodes import Node, Object, Status
from .problems import join

LINES_MAX = 100


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """`plain`: a value that asks for nothing, beside an empty one."""

    path: str
    why: str
    plain: Any = None


_KUBERNETES = "has no effect: this release does not run pods of Kubernetes"
_SLURM = "has no effect: this release does not run jobs of Slurm or PBS"
_OPTIMIZATION = "has no effect: write it in the code of the trial"
_PROCESSES = "has no effect: trials run as processes here, and not in containers"

ANYWHERE = (
    WithoutEffect("environment.pod_spec", _KUBERNETES),
    WithoutEffect("slurm", _SLURM),
    WithoutEffect("pbs", _SLURM),
    WithoutEffect(
        "environment.proxy_ports.unauthenticated",
        "has no effect: only users who may see the task reach its ports",
        False,
    ),
    WithoutEffect("integrations.pachyderm", "has no effect: there is no integration with Pachyderm"),
    WithoutEffect("optimizations.mixed_precision", "has no effect: use torch.amp in the code of the trial", "O0"),
    WithoutEffect("optimizations.average_training_metrics", "has no effect: they always are averaged", True),
    WithoutEffect("optimizations.grad_updates_size_file", _OPTIMIZATION),
    WithoutEffect("optimizations.tensor_fusion_threshold", "has no effect: give horovodrun's option", 64),
    WithoutEffect("optimizations.tensor_fusion_cycle_time", "has no effect: give horovodrun's option", 1),
    WithoutEffect("optimizations.auto_tune_tensor_fusion", "has no effect: give horovodrun's option", False),
    WithoutEffect("profiling.begin_on_batch", "has no effect: the profiler reports from the start to the end", 0),
    WithoutEffect("profiling.end_after_batch", "has no effect: the profiler reports from the start to the end"),
    WithoutEffect("profiling.sync_timings", "has no effect: the profiler takes no such timings", True),
    WithoutEffect("debug", "has no effect: the code of the trial chooses what it logs", False),
)

AS_PROCESSES = (
    WithoutEffect("environment.image", _PROCESSES),
    WithoutEffect("environment.registry_auth", _PROCESSES),
    WithoutEffect("environment.force_pull_image", _PROCESSES, False),
    WithoutEffect("environment.add_capabilities", _PROCESSES),
    WithoutEffect("environment.drop_capabilities", _PROCESSES),
    WithoutEffect("bind_mounts", _PROCESSES),
    WithoutEffect("resources.devices", _PROCESSES),
    WithoutEffect("resources.shm_size", _PROCESSES),
)


def without_effect(submitted: Mapping[str, Any], runtime: str) -> list[str]:
    """A line for each setting in `submitted`, a configuration that was found right, that nothing comes of: its path,
    and why. `runtime`: what trials run as, `process` or `docker`; empty where that is not known."""
    known = (*ANYWHERE, *(AS_PROCESSES if runtime == "process" else ()))
    lines = [f"{one.path}: {one.why}" for one in known if _says(submitted, one)]
    lines += [f"{path}: is ignored" for path in _ignored(EXPERIMENT, submitted, "")]
    return lines[:LINES_MAX]


def _says(submitted: Mapping[str, Any], one: WithoutEffect) -> bool:
    """Where the path goes through a list, one element that says it is enough."""
    values: list[Any] = [submitted]
    for part in one.path.split("."):
        elements = [each for value in values for each in (value if isinstance(value, list) else [value])]
        values = [each.get(part) for each in elements if isinstance(each, Mapping)]
    return any(value not in (None, "", [], {}) and value != one.plain for value in values)


def _ignored(node: Node, value: Any, path: str) -> Iterator[str]:
    """Fields that no release reads any more."""
    if not isinstance(node, Object) or not isinstance(value, Mapping):
        return
    for name, known in node.fields.items():
        if value.get(name) is not None and known.status is Status.IGNORED:
            yield join(path, name)
        elif known.status is not Status.IGNORED:
            yield from _ignored(known.node, value.get(name), join(path, name))

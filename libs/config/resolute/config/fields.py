"""The whole experiment configuration as a table of fields, in the order people meet them in the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.proto.states import LogPolicyAction

from . import bounds
from .environment_fields import BIND_MOUNTS, ENVIRONMENT, RESOURCES
from .hyperparameter_fields import HyperparametersNode
from .lengths import LengthNode
from .log_patterns import problem_with
from .nodes import OMIT, Anything, Bool, Field, FreeObject, Int, Leaf, ListOf, Node, Object, Status, Text
from .problems import Problems, join
from .searcher import SEARCHER
from .storage_fields import STORAGE

_OLD = Status.DEPRECATED
_UNUSED = Status.IGNORED


class _Entrypoint(Leaf):
    """A string goes through `sh -c`, a list is an argv."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, list):
            words = ListOf(Text()).read(value, path, problems)
            if not words:
                problems.expected(path, "a command", value)
            elif sum(map(len, words)) > bounds.TEXT_CHARACTERS_MAX:
                most = f"{bounds.TEXT_CHARACTERS_MAX:,}"
                problems.add(path, f"expected a command of at most {most} characters. Put it into a script.")
            return words
        if not isinstance(value, str) or not value.strip():
            problems.expected(path, "a command as text or a list of words", value)
            return None
        return Text().read(value, path, problems)


class _LogPolicy(Leaf):
    """A named pattern; the older form has no name, and an action written as an object with a `type`."""

    actions = Text(tuple(LogPolicyAction))
    fields = Object({"name": Field(Text()), "pattern": Field(Text()), "action": Field(Anything())})

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        read: dict[str, Any] = self.fields.fill(self.fields.read(value, path, problems))
        if read["pattern"] is not None and (problem := problem_with(read["pattern"])):
            problems.expected(join(path, "pattern"), "a regular expression of RE2", read["pattern"], hint=_why(problem))
        action, where = read["action"], join(path, "action")
        if isinstance(action, Mapping):
            problems.warn(where, f"is written as text today: {' or '.join(LogPolicyAction)}")
            action, where = action.get("type"), join(where, "type")
        if action is not None or isinstance(read["action"], Mapping):
            read["action"] = self.actions.read(action, where, problems)
        if read["name"] is None and None in (read["pattern"], read["action"]):
            problems.add(join(path, "name"), "missing. It may be left out only beside pattern and action.")
        return read


def _why(problem: str) -> str:
    return f"{problem[:1].upper()}{problem[1:]}."


LOG_POLICIES = ListOf(_LogPolicy())
BUILT_IN_LOG_POLICIES = (
    {"name": "CUDA OOM", "pattern": ".*CUDA out of memory.*", "action": None},
    {"name": "ECC Error", "pattern": ".*uncorrectable ECC error encountered.*", "action": None},
)

RETENTION = Object({"log_retention_days": Field(Int(-1, 32767))})

_OPTIMIZATIONS = Object(
    {
        "aggregation_frequency": Field(Int(1), 1),
        "average_aggregated_gradients": Field(Bool(), True),
        "average_training_metrics": Field(Bool(), True),
        "gradient_compression": Field(Bool(), False),
        "grad_updates_size_file": Field(Text()),
        "mixed_precision": Field(Text(("O0", "O1", "O2", "O3")), "O0"),
        "tensor_fusion_threshold": Field(Int(0), 64),
        "tensor_fusion_cycle_time": Field(Int(0), 1),
        "auto_tune_tensor_fusion": Field(Bool(), False),
    }
)

_PROFILING = Object(
    {
        "enabled": Field(Bool(), False),
        "begin_on_batch": Field(Int(0), 0, _OLD),
        "end_after_batch": Field(Int(0), None, _OLD),
        "sync_timings": Field(Bool(), True, _OLD),
    }
)


def _record(node: Node, *names: str) -> dict[str, Field]:
    return {name: Field(node) for name in names}


_INTEGRATIONS = Object(
    {
        "pachyderm": Field(
            Object(
                {
                    "pachd": Field(Object({**_record(Text(), "host"), **_record(Int(0, 65535), "port")})),
                    "proxy": Field(Object({**_record(Text(), "scheme", "host"), **_record(Int(0, 65535), "port")})),
                    "dataset": Field(Object(_record(Text(), "project", "repo", "commit", "branch", "token"))),
                }
            )
        ),
        "webhooks": Field(
            Object(
                {
                    "webhook_id": Field(ListOf(Int(1))),
                    "webhook_name": Field(ListOf(Text())),
                    "exclude": Field(Bool(), False),
                }
            )
        ),
    }
)

_SLURM = Object(
    {
        "slots_per_node": Field(Int(1), OMIT),
        "gpu_type": Field(Text(), OMIT),
        "sbatch_args": Field(ListOf(Text()), OMIT),
    }
)
_PBS = Object({"slots_per_node": Field(Int(1), OMIT), "pbsbatch_args": Field(ListOf(Text()), OMIT)})

_NAME = Text(longest=bounds.NAME_CHARACTERS_MAX)

EXPERIMENT = Object(
    {
        "name": Field(_NAME),
        "description": Field(Text()),
        "labels": Field(ListOf(_NAME), []),
        "data": Field(FreeObject(), {}),
        "workspace": Field(_NAME, ""),
        "project": Field(_NAME, ""),
        "debug": Field(Bool(), False),
        "entrypoint": Field(_Entrypoint()),
        "max_restarts": Field(Int(0), 5),
        "preemption_timeout": Field(Int(0)),
        "internal": Field(Anything(), status=_UNUSED),
        "log_policies": Field(LOG_POLICIES, []),
        "retention_policy": Field(RETENTION),
        "scheduling_unit": Field(Int(1), 100, _OLD),
        "records_per_epoch": Field(Int(0), 0, _OLD),
        "min_validation_period": Field(LengthNode(), {"batches": 0}, _OLD),
        "min_checkpoint_period": Field(LengthNode(), {"batches": 0}, _OLD),
        "perform_initial_validation": Field(Bool(), False),
        "checkpoint_policy": Field(Text(("best", "all", "none")), "best"),
        "checkpoint_storage": Field(STORAGE),
        "tensorboard_storage": Field(FreeObject(), status=_UNUSED),
        "hyperparameters": Field(HyperparametersNode(), {}),
        "searcher": Field(SEARCHER),
        "resources": Field(RESOURCES, {}),
        "bind_mounts": Field(BIND_MOUNTS, []),
        "environment": Field(ENVIRONMENT, {}),
        "optimizations": Field(_OPTIMIZATIONS, {}, _OLD),
        "profiling": Field(_PROFILING, {}),
        "reproducibility": Field(Object({"experiment_seed": Field(Int(0, 2**31 - 1))}), {}),
        "integrations": Field(_INTEGRATIONS),
        "slurm": Field(_SLURM, {}),
        "pbs": Field(_PBS, {}),
        "security": Field(FreeObject(), status=_UNUSED),
        "data_layer": Field(FreeObject(), status=_UNUSED),
    },
    remedies={
        "batch_size": "Write hyperparameters.global_batch_size.",
        "batches_per_step": "Write scheduling_unit.",
        "max_validation_period": "Write min_validation_period, as {batches: 100}.",
        "max_checkpoint_period": "Write min_checkpoint_period, as {batches: 100}.",
    },
)


def places(node: Node = EXPERIMENT, path: str = "") -> Mapping[str, str]:
    """Where fields below the top belong, by their own name; names that occur twice are left out."""
    found: dict[str, list[str]] = {}
    _collect(node, path, found)
    return {name: paths[0] for name, paths in found.items() if len(paths) == 1 and "." in paths[0]}


def _collect(node: Node, path: str, found: dict[str, list[str]]) -> None:
    if isinstance(node, Object):
        for name, known in node.fields.items():
            if known.status is not _UNUSED:
                found.setdefault(name, []).append(join(path, name))
                _collect(known.node, join(path, name), found)

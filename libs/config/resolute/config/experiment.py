"""An experiment's configuration: from what a person submitted to what every service, and the trial, goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .checks import check_merged
from .fields import BUILT_IN_LOG_POLICIES, EXPERIMENT, places
from .hyperparameters import Space, parse_space
from .lengths import Length
from .merge import merge
from .problems import Problems
from .searcher import DEFAULT_METRIC, SearcherConfig
from .slots import slots_of

Config = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterDefaults:
    """The layers below a submitted configuration, and what only the moment of submission knows.

    `created_at_s` is the seed of an experiment that names none; `name` is what a nameless one is called.
    """

    checkpoint_storage: Config | None = None
    workspace_checkpoint_storage: Config | None = None
    task_container_defaults: Config = field(default_factory=dict)
    template: Config | None = None
    invariants: tuple[Config, ...] = ()
    """Laid over everything else, the last one on top."""
    preemption_timeout_s: int = 3600
    default_compute_pool: str = "default"
    default_aux_pool: str = "default"
    default_priority: int | None = None
    created_at_s: int = 0
    name: str = "Experiment"


@dataclass(frozen=True)
class Resources:
    slots_per_trial: int
    """The most where a range was given."""
    slots_min: int
    max_slots: int | None
    weight: float
    priority: int | None
    resource_pool: str
    is_single_node: bool
    shm_size_bytes: int | None


@dataclass(frozen=True)
class Retention:
    """How many checkpoints survive the end of the experiment."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int

    @classmethod
    def of(cls, storage: Config) -> Retention:
        return cls(storage["save_experiment_best"], storage["save_trial_best"], storage["save_trial_latest"])


@dataclass(frozen=True)
class ExperimentConfig:
    """A configuration that has been checked. `merged` is the whole of it, as REST and trials see it."""

    name: str
    description: str | None
    labels: tuple[str, ...]
    workspace: str
    project: str
    entrypoint: str | tuple[str, ...] | None
    max_restarts: int
    preemption_timeout_s: int
    searcher: SearcherConfig
    hyperparameters: Space
    experiment_seed: int
    resources: Resources
    checkpoint_storage: Config
    checkpoint_policy: str
    retention: Retention
    environment: Config
    log_retention_days: int | None
    scheduling_unit: int
    records_per_epoch: int
    min_validation_period: Length
    min_checkpoint_period: Length
    perform_initial_validation: bool
    debug: bool
    merged: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def parse_experiment(raw: Config, defaults: ClusterDefaults, *, managed: bool = True) -> ExperimentConfig:
    """Read, complete and check `raw`.

    An unmanaged experiment (one that runs outside the cluster) needs no entrypoint.
    Raises InvalidConfig with a line for every problem: the path, what was found, what would do.
    """
    problems = Problems(places=places())
    submitted = EXPERIMENT.read(raw, "", problems)
    merged = _complete(submitted, defaults, problems)
    check_merged(merged, problems, managed=managed)
    problems.raise_if_any()
    return from_merged(merged, warnings=problems.warnings)


def override(current: Config, raw: Config, defaults: ClusterDefaults, *, managed: bool = True) -> ExperimentConfig:
    """`current`, a merged configuration, with what `raw` says instead. Lists that add up do so.

    Raises InvalidConfig as `parse_experiment` does.
    """
    problems = Problems(places=places())
    upper = EXPERIMENT.read(raw, "", problems)
    problems.raise_if_any()
    config = parse_experiment(merge(upper, current), defaults, managed=managed)
    return replace(config, warnings=problems.warnings)


def _complete(submitted: Config, defaults: ClusterDefaults, problems: Problems) -> dict[str, Any]:
    quiet = Problems()
    layers = [
        EXPERIMENT.read(defaults.template or {}, "template", problems),
        EXPERIMENT.read(_from_task_container_defaults(defaults.task_container_defaults), "cluster", quiet),
        _storage_layer(defaults.workspace_checkpoint_storage, "workspace", quiet),
        _storage_layer(defaults.checkpoint_storage, "cluster", quiet),
        {"log_policies": list(BUILT_IN_LOG_POLICIES), "preemption_timeout": defaults.preemption_timeout_s},
    ]
    problems.lines.extend(quiet.lines)  # what is wrong with the cluster's own layers stops us too; old fields do not
    merged = dict(submitted)
    for lower in layers:
        merged = merge(merged, lower)
    merged = merge(merged, _last_resorts(merged, defaults))
    for invariant in defaults.invariants:
        merged = merge(EXPERIMENT.read(invariant, "policy", problems), merged)
    filled: dict[str, Any] = EXPERIMENT.fill(merged)
    filled["labels"] = sorted(set(filled["labels"]))
    return filled


def _last_resorts(merged: Config, defaults: ClusterDefaults) -> dict[str, Any]:
    """What the moment decides where every layer was silent."""
    resources, searcher = merged.get("resources", {}), merged.get("searcher") or {}
    pool = defaults.default_aux_pool if resources.get("slots_per_trial") == 0 else defaults.default_compute_pool
    return {
        "name": defaults.name,
        "reproducibility": {"experiment_seed": defaults.created_at_s % 2**31},
        "resources": {
            "resource_pool": resources.get("resource_pool") or pool,
            "priority": defaults.default_priority,
        },
        "searcher": {"metric": DEFAULT_METRIC} if "max_length" in searcher else None,
    }


def _storage_layer(storage: Config | None, path: str, problems: Problems) -> dict[str, Any]:
    layer: dict[str, Any] = EXPERIMENT.read({"checkpoint_storage": storage}, path, problems)
    return layer


def _from_task_container_defaults(defaults: Config) -> dict[str, Any]:
    """A cluster's or pool's `task_container_defaults`, in the shape of an experiment."""
    environment = ("image", "registry_auth", "force_pull_image", "environment_variables")
    capabilities = ("add_capabilities", "drop_capabilities")
    layer = {k: defaults.get(k) for k in ("bind_mounts", "log_policies", "preemption_timeout", "slurm", "pbs")}
    layer["environment"] = {
        **{key: defaults.get(key) for key in (*environment, *capabilities)},
        "dtrain_network_interface": defaults.get("dtrain_network_interface") or None,
        "startup_hook": defaults.get("startup_hook") or None,
    }
    layer["resources"] = {"devices": defaults.get("devices"), "shm_size": defaults.get("shm_size_bytes")}
    return layer


def from_merged(merged: Config, *, warnings: list[str] | None = None) -> ExperimentConfig:
    """The typed form of a merged configuration, as it comes back from the log."""
    storage, resources = merged["checkpoint_storage"], merged["resources"]
    entrypoint = merged["entrypoint"]
    return ExperimentConfig(
        name=merged["name"],
        description=merged["description"],
        labels=tuple(merged["labels"]),
        workspace=merged["workspace"],
        project=merged["project"],
        entrypoint=tuple(entrypoint) if isinstance(entrypoint, list) else entrypoint,
        max_restarts=merged["max_restarts"],
        preemption_timeout_s=merged["preemption_timeout"],
        searcher=SearcherConfig.of(merged["searcher"]),
        hyperparameters=parse_space(merged["hyperparameters"]),
        experiment_seed=merged["reproducibility"]["experiment_seed"],
        resources=_resources(resources),
        checkpoint_storage=storage,
        checkpoint_policy=merged["checkpoint_policy"],
        retention=Retention.of(storage),
        environment=merged["environment"],
        log_retention_days=(merged["retention_policy"] or {}).get("log_retention_days"),
        scheduling_unit=merged["scheduling_unit"],
        records_per_epoch=merged["records_per_epoch"],
        min_validation_period=Length.of(merged["min_validation_period"]),
        min_checkpoint_period=Length.of(merged["min_checkpoint_period"]),
        perform_initial_validation=merged["perform_initial_validation"],
        debug=merged["debug"],
        merged=dict(merged),
        warnings=warnings or [],
    )


def _resources(merged: Config) -> Resources:
    return Resources(
        slots_per_trial=slots_of(merged).most,
        slots_min=slots_of(merged).least,
        max_slots=merged["max_slots"],
        weight=merged["weight"],
        priority=merged["priority"],
        resource_pool=merged["resource_pool"],
        is_single_node=bool(merged["is_single_node"]),
        shm_size_bytes=merged["shm_size"],
    )

"""The cluster's own settings: port, database, pools, storage and defaults for tasks.

Names are those of Determined's master.yaml, so that a file people have keeps its meaning; sections this cluster
has no use for are refused by name rather than passed over in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator

from .experiment import ClusterDefaults
from .pools import Provider, ResourcePool, Scheduler, Section, TaskContainerDefaults, check_names
from .problems import Problems, nearest, one_of, quote
from .storage_fields import STORAGE, check_storage

__all__ = ["MasterConfig", "Provider", "ResourcePool", "Scheduler", "TaskContainerDefaults", "parse_master"]


class ResourceManager(Section):
    type: Literal["agent"] = "agent"
    cluster_name: str = "default"
    default_compute_resource_pool: str = "default"
    default_aux_resource_pool: str = "default"
    scheduler: Scheduler = Scheduler()


class Database(Section):
    user: str = ""
    password: SecretStr = SecretStr("")
    host: str = ""
    port: int = Field(default=5432, ge=1, le=65535)
    name: str = ""
    ssl_mode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    ssl_root_cert: str | None = None


class Security(Section):
    initial_user_password: SecretStr = SecretStr("")


class RetentionPolicy(Section):
    log_retention_days: int = Field(default=-1, ge=-1, le=32767)
    schedule: str | None = None


class MasterConfig(Section):
    port: int = Field(default=8080, ge=0, le=65535)
    cluster_name: str = ""
    db: Database = Database()
    security: Security = Security()
    resource_manager: ResourceManager = ResourceManager()
    resource_pools: list[ResourcePool] = Field(default=[ResourcePool()], min_length=1)
    checkpoint_storage: dict[str, Any] | None = None
    task_container_defaults: TaskContainerDefaults = TaskContainerDefaults()
    retention_policy: RetentionPolicy = RetentionPolicy()

    @model_validator(mode="after")
    def _pools_fit_together(self) -> MasterConfig:
        check_names(self.resource_pools)
        names = [pool.pool_name for pool in self.resource_pools]
        for field in ("default_compute_resource_pool", "default_aux_resource_pool"):
            name = getattr(self.resource_manager, field)
            if name not in names:
                raise ValueError(
                    f"resource_manager.{field}: expected one of the pools ({', '.join(names)}); found {name!r}"
                )
        return self

    def scheduler_of(self, pool_name: str) -> Scheduler:
        """The pool's own scheduler, or the cluster's."""
        own = next((pool.scheduler for pool in self.resource_pools if pool.pool_name == pool_name), None)
        return own or self.resource_manager.scheduler

    def defaults(self, *, created_at_s: int, pool_name: str | None = None, name: str = "Experiment") -> ClusterDefaults:
        """What a submission to `pool_name` (the default pool when None) is completed with."""
        manager = self.resource_manager
        pool_name = pool_name or manager.default_compute_resource_pool
        pool = next((pool for pool in self.resource_pools if pool.pool_name == pool_name), None)
        cluster = self.task_container_defaults.model_dump(exclude_unset=True)
        own = pool.task_container_defaults if pool else None
        return ClusterDefaults(
            checkpoint_storage=self.checkpoint_storage,
            task_container_defaults={**cluster, **(own.model_dump(exclude_unset=True) if own else {})},
            preemption_timeout_s=self.task_container_defaults.preemption_timeout,
            default_compute_pool=manager.default_compute_resource_pool,
            default_aux_pool=manager.default_aux_resource_pool,
            default_priority=self.scheduler_of(pool_name).default_priority,
            created_at_s=created_at_s,
            name=name,
        )


def parse_master(raw: Mapping[str, Any]) -> MasterConfig:
    """Raises InvalidConfig with a line for every problem: the path, what was found, what would do."""
    problems = Problems()
    given = {key: value for key, value in raw.items() if value is not None}
    if "checkpoint_storage" in given:
        storage = STORAGE.fill(STORAGE.read(given["checkpoint_storage"], "checkpoint_storage", problems))
        check_storage(storage, problems)
        given["checkpoint_storage"] = storage
    try:
        config = MasterConfig.model_validate(given)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _report(dict(detail), problems)
        config = MasterConfig()
    problems.raise_if_any()
    return config


def _report(detail: Mapping[str, Any], problems: Problems) -> None:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    if detail["type"] == "extra_forbidden":
        known = _fields_at(detail["loc"][:-1])
        close = nearest(str(detail["loc"][-1]), known)
        problems.add(path, f"unknown field. {f'Did you mean {close!r}?' if close else one_of(known)}")
    elif detail["type"] == "value_error":
        text = detail["msg"].removeprefix("Value error, ")
        problems.lines.append(f"{path}: {text}" if path else text)
    else:
        found = "a secret" if "password" in path else quote(detail["input"])
        problems.add(path, f"{detail['msg'].removeprefix('Input ')}; found {found}.")


def _fields_at(loc: tuple[Any, ...]) -> list[str]:
    """The fields of the section at `loc`."""
    section: Any = MasterConfig
    for part in loc:
        if isinstance(part, str):
            section = _section_of(section.model_fields[part].annotation)
    return list(section.model_fields)


def _section_of(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section_of, getattr(annotation, "__args__", ()))), None)

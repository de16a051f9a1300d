"""The cluster's own settings: port, database, pools, storage and defaults for tasks.

Names are those of Determined's master.yaml, so that a file people have keeps its meaning. Every key that is accepted
has an effect; `unsupported.py` has those that are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator

from resolute.proto.errors import InvalidConfig

from .authz import Authz
from .experiment import ClusterDefaults
from .pools import DefaultTask, Provider, ResourcePool, Scheduler, Section, TaskContainerDefaults, check_names
from .problems import Problems, nearest, one_of, quote
from .retention import RetentionPolicy
from .storage_fields import clusters_storage
from .token_lifespans import TokenLifespans
from .unsupported import without_unsupported
from .webhooks import WebhookSettings

__all__ = ["MasterConfig", "Provider", "ResourcePool", "Scheduler", "TaskContainerDefaults", "parse_master"]


class ResourceManager(Section):
    type: Literal["agent"] = "agent"
    default_compute_resource_pool: str = "default"
    default_aux_resource_pool: str = "default"
    scheduler: Scheduler = Scheduler()

    @field_validator("type", mode="before")
    @classmethod
    def _is_built(cls, value: Any) -> Any:
        if value in ("kubernetes", "slurm", "pbs", "dispatcher"):
            raise ValueError(f"{value} is not supported by this release; agent runs tasks on agents of the cluster")
        return value


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("level", mode="before")
    @classmethod
    def _has_four_levels(cls, value: Any) -> Any:
        if value in ("trace", "fatal"):
            raise ValueError(f"{value} is not supported; write debug, info, warn or error")
        return "warning" if value == "warn" else value


class Database(Section):
    """A PostgreSQL that is there already, in place of the cluster's own."""

    user: str = ""
    password: SecretStr = SecretStr("")
    host: str = ""
    port: int = Field(default=5432, ge=1, le=65535)
    name: str = ""
    ssl_mode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "disable"
    ssl_root_cert: str | None = None

    @model_validator(mode="after")
    def _says_where(self) -> Database:
        missing = [name for name in ("user", "host", "name") if not getattr(self, name)]
        if self.model_fields_set and missing:
            raise ValueError(f"{', '.join(missing)} missing; a cluster without `db` runs a PostgreSQL of its own")
        return self


class Tls(Section):
    cert: Path | None = None
    key: Path | None = None

    @model_validator(mode="after")
    def _go_together(self) -> Tls:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key go together: give both, or neither")
        return self


class Security(Section):
    initial_user_password: SecretStr = SecretStr("")
    tls: Tls = Tls()
    default_task: DefaultTask | None = None
    authz: Authz = Authz()
    token: TokenLifespans = TokenLifespans()


class MasterConfig(Section):
    port: int = Field(default=0, ge=0, le=65535)
    """0: 8080, or 8443 with a certificate."""
    cluster_name: str = ""
    """What the cluster is called where people see it."""
    launch_error: bool = True
    """Whether work that no agent of today can hold is refused, rather than warned of."""
    log: Log = Log()
    db: Database = Database()
    security: Security = Security()
    resource_manager: ResourceManager = ResourceManager()
    resource_pools: list[ResourcePool] = Field(default=[ResourcePool()], min_length=1)
    checkpoint_storage: dict[str, Any] | None = None
    task_container_defaults: TaskContainerDefaults = TaskContainerDefaults()
    retention_policy: RetentionPolicy = RetentionPolicy()
    webhooks: WebhookSettings = WebhookSettings()

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

    @property
    def listens_at(self) -> int:
        """The port of the gateway."""
        return self.port or (8443 if self.security.tls.cert is not None else 8080)

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
    given = without_unsupported(raw, problems)
    if "checkpoint_storage" in given:
        try:
            given["checkpoint_storage"] = clusters_storage(given["checkpoint_storage"])
        except InvalidConfig as error:
            problems.lines.extend(error.message.splitlines())
            del given["checkpoint_storage"]
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
        known = fields_of(".".join(part for part in detail["loc"][:-1] if isinstance(part, str)))
        close = nearest(str(detail["loc"][-1]), known)
        problems.add(path, f"unknown field. {f'Did you mean {close!r}?' if close else one_of(known)}")
    elif detail["type"] == "value_error":
        text = detail["msg"].removeprefix("Value error, ")
        problems.lines.append(f"{path}: {text}" if path else text)
    else:
        found = "a secret" if "password" in path or "registry_auth" in path else quote(detail["input"])
        problems.add(path, f"{detail['msg'].removeprefix('Input ')}; found {found}.")


def fields_of(path: str) -> tuple[str, ...]:
    """The keys of the section at `path`, which has `[]` for any item of a list; none where there is no section."""
    section: Any = MasterConfig
    for part in path.replace("[]", "").split(".") if path else ():
        known = section.model_fields.get(part) if section is not None else None
        section = _section_of(known.annotation) if known is not None else None
    return tuple(section.model_fields) if section is not None else ()


def _section_of(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section_of, getattr(annotation, "__args__", ()))), None)

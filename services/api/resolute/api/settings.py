"""What the gateway is told when it starts."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from resolute.api.client_address import Network, read_networks
from resolute.api.edge.limits import ConnectionLimits
from resolute.api.edge.origins import read_urls
from resolute.api.proxy.limits import ProxySettings
from resolute.api.stream.limits import StreamLimits
from resolute.config.authz import Authz
from resolute.config.pools import (
    DefaultTask,
    ResourcePool,
    Scheduler,
    TaskContainerDefaults,
    check_names,
    read_pools,
)
from resolute.config.retention import RetentionPolicy
from resolute.config.storage_fields import clusters_storage
from resolute.config.token_lifespans import TokenLifespans
from resolute.proto.errors import InvalidConfig
from resolute.service import settings
from resolute.service.addresses import is_loopback

VERSION = "0.38.1"
"""The release of the wire that is spoken; clients compare it with their own."""


class ApiSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="RESOLUTE_API_", env_nested_delimiter="__", frozen=True)

    host: str = "127.0.0.1"
    port: int = 8080
    task_host: str = ""
    """A further address to listen at, where tasks in containers reach this machine, unless `host` is all addresses.
    A blank password opens nothing there, whatever the gateway is called."""
    reuse_port: bool = False
    """Whether further gateways of this host may listen on the same port: the kernel gives each new connection to one
    of those that live."""
    connections: ConnectionLimits = ConnectionLimits()
    """How many connections there may be, and how slow a client may be."""
    streams: StreamLimits = StreamLimits()
    """How many clients may listen to live updates, and what each may cost."""
    proxy: ProxySettings = ProxySettings()
    """Where agents connect tasks with this gateway, for requests to what tasks serve, and limits of such requests."""
    tls_cert: Path | None = None
    """A PEM file: the gateway speaks TLS, and nothing else, when it has a certificate and its key."""
    tls_key: Path | None = None
    strict_transport_s: int = Field(default=31_536_000, ge=0)
    """Where the gateway speaks TLS, and others reach it: how long browsers shall use nothing else for its name. 0 asks
    for nothing."""
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(read_networks)] = ()
    """Networks of proxies in front of the gateway, `10.0.0.0/8,fd00::/8`: only their `X-Forwarded-For` is believed."""
    silent_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(read_networks)] = ()
    """Networks of proxies that pass connections through and cannot say whose: their address stands for nobody's, and
    nothing that comes from there about addresses is believed."""
    public_urls: Annotated[tuple[str, ...], NoDecode, BeforeValidator(read_urls)] = ()
    """URLs of the gateway's own pages, `https://cluster.example`, where a proxy in front of it changes `Host`; and
    further names of a gateway that listens on this machine only, where else only `localhost` and addresses are."""
    database_url: str
    cluster_name: str = "resolute"
    cluster_id: str = "resolute"
    secret: SecretStr = SecretStr("")
    """Signs task tokens; the scheduler knows it too."""
    sealing_keys: Path | None = None
    """The file of the keys that protect the secrets of configurations; the gateway makes it where it is missing.
    Without one they are protected by a key that is derived from `secret`, and cannot be rotated."""
    initial_user_password: SecretStr = SecretStr("")
    """Of `admin` and `determined`, when the cluster is made. Empty is allowed on a loopback address only."""
    checkpoint_storage: dict[str, Any] = Field(
        default_factory=lambda: {"type": "shared_fs", "host_path": "/tmp", "storage_path": "determined-checkpoint"}
    )
    """The cluster's default `checkpoint_storage`."""
    pools: Annotated[tuple[ResourcePool, ...], NoDecode, BeforeValidator(read_pools)] = Field(
        default=(ResourcePool(),), min_length=1
    )
    """The resource pools there are: the scheduler's own list, so that a submission to another is refused at once."""
    scheduler: Scheduler = Scheduler()
    """Of pools that have none of their own; the scheduler is told the same."""
    default_pool: str = Field(default="", validate_default=True)
    """Where those go that name none; the pool `default` when empty, or the first where there is none of that name."""
    default_aux_pool: str = ""
    """Where those of them go that need no slots; `default_pool` when empty."""
    task_container_defaults: TaskContainerDefaults = TaskContainerDefaults()
    """What configurations that leave it open are completed with; a pool's own go before these."""
    launch_error: bool = True
    """Whether work that needs more slots than the agents of its pool have today is refused, rather than warned of."""
    task_runtime: Literal["", "process", "docker"] = ""
    """What the agents run tasks as, where all do the same: submissions with settings that have no effect there are
    warned of. Empty: not known."""
    default_task: DefaultTask | None = None
    """Whom the tasks of users run as that are linked with no user of the host; None: each user's tasks as a user made
    for them, or as their image says."""
    authz: Authz = Authz()
    """By which rules users may do what, and which role those get who create a workspace."""
    token: TokenLifespans = TokenLifespans()
    """For how long access tokens count."""
    retention_policy: RetentionPolicy = RetentionPolicy()
    """For how long the logs of trials are kept, and when those are removed that were kept for long enough."""
    session_lifetime_days: float = 30
    metrics_token_file: Path | None = None
    """The file with the token by which a monitoring system reads `/prom/…` and nothing else."""
    metrics_targets_file: Path | None = None
    """A JSON list of the processes that serve metrics, for Prometheus' service discovery: see `metrics_targets.py`."""
    agent_exporter_ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = (9400, 8080)
    """Where exporters of GPUs and of containers answer on the hosts of agents; service discovery lists them, as
    Determined's does. `[]` lists none."""
    task_token_grace_s: float = 60
    """How long a task's token still opens its routes after its allocation has exited: for what it said last."""
    login_failures_max: int = 10
    """Wrong passwords that one caller may try at once for one user name; then 429, and one more now and then
    (docs/security.md). All limits of logins are multiples of it."""
    persistence_s: float = 20
    """How long a service that is away is asked again before the caller is told to come back later."""
    pool_connections_max: int = 10
    behind_max_s: float = Field(default=10, gt=0)
    """A gateway is not ready while the log has held something for so long that the gateway's tables do not show."""
    unused_tables_days: float = Field(default=7, gt=0)
    """Tables of a version of the read model that no gateway has used for so long are dropped."""

    @field_validator("pools")
    @classmethod
    def _each_once(cls, pools: tuple[ResourcePool, ...]) -> tuple[ResourcePool, ...]:
        check_names(pools)
        return pools

    @field_validator("pools", "task_container_defaults")
    @classmethod
    def _networks_are_the_agents(cls, value: Any) -> Any:
        sections = [pool.task_container_defaults for pool in value] if isinstance(value, tuple) else [value]
        if any(section is not None and "network_mode" in section.model_fields_set for section in sections):
            raise ValueError(
                "task_container_defaults.network_mode has no effect here: the agents say which network their tasks are "
                "in (RESOLUTE_AGENT_DOCKER_NETWORK)"
            )
        return value

    @field_validator("checkpoint_storage")
    @classmethod
    def _can_be_used(cls, value: dict[str, Any]) -> dict[str, Any]:
        clusters_storage(value)
        return value

    @field_validator("default_pool", "default_aux_pool")
    @classmethod
    def _exists(cls, name: str, read: ValidationInfo) -> str:
        names = [pool.pool_name for pool in read.data.get("pools", ())]
        if name and names and name not in names:
            raise ValueError(f"expected one of the pools ({', '.join(names)}); found {name!r}")
        return name

    @field_validator("default_pool")
    @classmethod
    def _is_some_pool(cls, name: str, read: ValidationInfo) -> str:
        names = [pool.pool_name for pool in read.data.get("pools", ())]
        if name or not names:
            return name
        return "default" if "default" in names else names[0]

    @property
    def pool_names(self) -> tuple[str, ...]:
        return tuple(pool.pool_name for pool in self.pools)

    def pool(self, name: str) -> ResourcePool | None:
        return next((pool for pool in self.pools if pool.pool_name == name), None)

    def scheduler_of(self, name: str) -> Scheduler:
        """The pool's own, or the cluster's; that of a pool which is gone from the settings, too."""
        pool = self.pool(name)
        return pool.scheduler if pool is not None and pool.scheduler is not None else self.scheduler

    def container_defaults(self, pool_name: str) -> dict[str, Any]:
        """What somebody set of `task_container_defaults`, for the pool and above it for the cluster."""
        pool = self.pool(pool_name)
        own = pool.task_container_defaults if pool is not None else None
        cluster = self.task_container_defaults.model_dump(exclude_unset=True)
        return {**cluster, **(own.model_dump(exclude_unset=True) if own is not None else {})}

    @property
    def aux_pool(self) -> str:
        return self.default_aux_pool or self.default_pool

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where to listen: no address twice, and none besides all addresses of its kind."""
        further = self.task_host and self.task_host != self.host and not _covers(self.host, self.task_host)
        return (self.host, self.task_host) if further else (self.host,)

    @property
    def insists_on_tls_s(self) -> int:
        """`strict_transport_s` where it helps: on one machine it would change what `localhost` is to its browsers."""
        return self.strict_transport_s if self.tls_cert is not None and not self.loopback else 0

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the gateway."""
        return is_loopback(self.host)


def _covers(host: str, other: str) -> bool:
    """Whether who listens at `host` listens at `other` as well. All addresses of IPv6 are none of IPv4's here: that is
    how asyncio opens its sockets."""
    try:
        every, one = ipaddress.ip_address(host), ipaddress.ip_address(other)
    except ValueError:
        return False
    return every.is_unspecified and every.version == one.version


def load() -> ApiSettings:
    """From `RESOLUTE_API_*`, above the `api` section of the file that all services share, above what they share.

    Raises InvalidConfig, naming the setting.
    """
    shared = settings.load()
    common = {
        "database_url": shared.database_url,
        "cluster_name": shared.cluster_name,
        "cluster_id": shared.cluster_id,
        "secret": shared.cluster_secret,
        "metrics_token_file": shared.metrics_token_file,
    }
    given = EnvSettingsSource(ApiSettings)()
    try:
        return ApiSettings(**{**common, **shared.api, **given})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in problem["loc"])
        raise InvalidConfig(f"api.{path}: {problem['msg']}; give RESOLUTE_API_{path.upper()}") from error

"""An embedded cluster as a description, and the processes it consists of."""

from __future__ import annotations

import json
import os
import secrets
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from resolute import codec
from resolute.bus import roles
from resolute.config.pools import ResourcePool
from resolute.deploy import certificates, containers, environment_settings, nats_server, postgres
from resolute.deploy.args import SERVICES
from resolute.deploy.paths import ClusterPaths, write_private
from resolute.deploy.plan import Child
from resolute.proto.errors import Refused
from resolute.service.addresses import is_loopback

FORMAT = 1
"""Of the data directory; raised when an older release could not use it."""


@dataclass(frozen=True, slots=True)
class AgentPart:
    """One agent on this host. `slots` None: count what the host has."""

    name: str
    slots: int | None = None
    gpu: bool = True
    runtime: str = "process"
    pool: str = "default"
    restart: bool = True
    given: dict[str, str] = field(default_factory=dict)
    """Settings of this agent, as variables; they override the settings of all agents."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The description of a cluster, which is kept in a file while the cluster is down."""

    name: str
    id: str = field(default_factory=lambda: str(uuid4()))
    host: str = "127.0.0.1"
    port: int = 8080
    nats_port: int = 0
    metrics_ports: dict[str, int] = field(default_factory=dict)
    """By the name of each process: the port of its pages `/metrics` and `/ready`."""
    storage: str = ""
    agents: tuple[AgentPart, ...] = ()
    separate: bool = False
    """Whether every service is a process of its own."""
    task_host: str = ""
    """Where tasks in containers reach this machine; empty where there are none."""
    replicas: dict[str, int] = field(default_factory=dict)
    """How many processes of a service, where it is not one."""
    restart: bool = True
    pools: tuple[Any, ...] = ("default",)
    """Names, or descriptions in the words of master.yaml."""
    default_pool: str | None = None
    """The pool of experiments that name none; by default the first of `pools`."""
    default_aux_pool: str | None = None
    """The same for work that needs no slots; by default `default_pool`."""
    agent_reconnect_wait_s: float = 25.0
    """Of pools that do not say."""
    checkpoint_storage: dict[str, Any] | None = None
    """`checkpoint_storage` of the master configuration; where it is empty, `storage` counts."""
    task_container_defaults: dict[str, Any] = field(default_factory=dict)
    """`task_container_defaults` as written in the master configuration, without defaults filled in."""
    display_name: str = ""
    """What the cluster is called where people see it; `name` when empty."""
    database: str = field(default="", repr=False)
    """The URL, with the password, of a PostgreSQL that runs already; empty where the cluster runs one itself."""
    retention_policy: dict[str, Any] = field(default_factory=dict)
    """Of the master configuration."""
    given: dict[str, str] = field(default_factory=dict)
    """Settings of services and agents, as variables: see `resolute.deploy.environment_settings`."""
    format: int = FORMAT

    @property
    def tls_cert(self) -> Path | None:
        """The gateway's certificate; None where it speaks plain HTTP."""
        named = self.given.get(environment_settings.TLS_CERT)
        return Path(named) if named else None

    @property
    def url(self) -> str:
        return self._url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host))

    def url_of(self, agent: AgentPart) -> str:
        """Where the agent's tasks find the gateway."""
        return self._url(self.task_host) if agent.runtime == "docker" else self.url

    def _url(self, host: str) -> str:
        scheme = "https" if self.tls_cert else "http"
        return f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"

    @property
    def pool_names(self) -> tuple[str, ...]:
        return tuple(pool if isinstance(pool, str) else pool["pool_name"] for pool in self.pools)

    @property
    def elastic_agents(self) -> tuple[str, ...]:
        """Those that the scheduler may start when work waits."""
        described = (ResourcePool.model_validate(pool) for pool in self.pools if not isinstance(pool, str))
        return tuple(agent_id for pool in described for agent_id in pool.elastic_agents)

    @property
    def compute_pool(self) -> str:
        return self.default_pool or self.pool_names[0]

    @property
    def nats_url(self) -> str:
        return f"nats://127.0.0.1:{self.nats_port}"


def load(paths: ClusterPaths) -> Cluster | None:
    """The cluster of this directory; None where there has been none. Raises Refused for one we cannot use."""
    try:
        found = json.loads(paths.description.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot read {paths.description}: {error}") from error
    made_by = found.get("format")
    if made_by != FORMAT:
        raise Refused(
            f"cannot use the data directory {paths.root}: it has format {made_by}, and this release uses {FORMAT}; "
            "use the release that made it, or another directory (--data-dir)"
        )
    return codec.load(Cluster, found)


def save(paths: ClusterPaths, cluster: Cluster) -> None:
    write_private(paths.description, json.dumps(asdict(cluster), indent=1))


def with_agent(cluster: Cluster, agent: AgentPart) -> Cluster:
    others = tuple(known for known in cluster.agents if known.name != agent.name)
    return replace(cluster, agents=(*others, agent))


def without_agents(cluster: Cluster, names: frozenset[str]) -> Cluster:
    return replace(cluster, agents=tuple(agent for agent in cluster.agents if agent.name not in names))


# ---------------------------------------------------------------- secrets


def seed_of(file: Path) -> roles.Key:
    """The key in `file`; made there the first time it is asked for."""
    if not file.exists():
        write_private(file, roles.new_key().seed)
    return roles.key_of(file.read_text().strip())


def cluster_secret(paths: ClusterPaths) -> str:
    file = paths.secrets / "cluster.secret"
    if not file.exists():
        write_private(file, secrets.token_urlsafe(32))
    return file.read_text().strip()


def nats_config(paths: ClusterPaths, cluster: Cluster) -> str:
    names = [*(agent.name for agent in cluster.agents), *cluster.elastic_agents]
    agents = {name: seed_of(nats_server.agent_seed_file(paths, name)).public for name in names}
    service = seed_of(nats_server.service_seed_file(paths)).public
    return nats_server.config(paths, cluster.nats_port, service, agents)


# ---------------------------------------------------------------- processes


def children(paths: ClusterPaths, cluster: Cluster, password: str | None = None) -> list[Child]:
    """In the order of starting. `password`: the initial one of the first users."""
    env = environment_settings.passed_on(os.environ, cluster.given)
    parts = [
        *(() if cluster.database else (postgres.child(paths, env),)),
        nats_server.child(paths, env),
        *_services(paths, cluster, {**env, **service_environment(paths, cluster, password)}),
        *(_agent(paths, cluster, agent, env) for agent in cluster.agents),
    ]
    return [replace(part, restart=part.restart and cluster.restart) for part in parts]


def database_url(paths: ClusterPaths, cluster: Cluster) -> str:
    return cluster.database or postgres.url(paths)


def service_environment(paths: ClusterPaths, cluster: Cluster, password: str | None = None) -> dict[str, str]:
    """The environment of every service, the gateway included."""
    storage = cluster.checkpoint_storage or {"type": "shared_fs", "host_path": cluster.storage}
    secret, database = cluster_secret(paths), database_url(paths, cluster)
    return {
        "RESOLUTE_DATABASE_URL": database,
        "RESOLUTE_NATS_URL": cluster.nats_url,
        "RESOLUTE_NATS_SEED_FILE": str(nats_server.service_seed_file(paths)),
        "RESOLUTE_CLUSTER_NAME": cluster.name,
        "RESOLUTE_CLUSTER_ID": cluster.id,
        "RESOLUTE_CLUSTER_SECRET": secret,
        "RESOLUTE_LOG_FORMAT": "json",
        "RESOLUTE_METRICS_TOKEN_FILE": str(paths.metrics_token),
        "RESOLUTE_API_METRICS_TARGETS_FILE": str(paths.metrics_targets),
        "RESOLUTE_SCHEDULER_POOLS": json.dumps([_without_task_defaults(pool) for pool in cluster.pools]),
        "RESOLUTE_SCHEDULER_AGENT_RECONNECT_WAIT_S": str(cluster.agent_reconnect_wait_s),
        "RESOLUTE_PROVIDER_WORK_DIR": str(paths.instances),
        "RESOLUTE_PROVIDER_LOG_DIR": str(paths.logs),
        "RESOLUTE_PROVIDER_SEED_DIR": str(paths.secrets),
        "RESOLUTE_PROVIDER_NATS_URL": cluster.nats_url,
        "RESOLUTE_PROVIDER_MASTER_URL": cluster.url,
        "RESOLUTE_PROVIDER_CLUSTER_ID": cluster.id,
        "RESOLUTE_API_HOST": cluster.host,
        "RESOLUTE_API_PORT": str(cluster.port),
        "RESOLUTE_API_TASK_HOST": cluster.task_host,
        "RESOLUTE_API_TASK_RUNTIME": "docker" if cluster.task_host else "process",
        "RESOLUTE_API_REUSE_PORT": json.dumps(cluster.replicas.get("api", 1) > 1),
        "RESOLUTE_API_POOLS": json.dumps([_without_network(pool) for pool in cluster.pools]),
        "RESOLUTE_API_DEFAULT_POOL": cluster.compute_pool,
        "RESOLUTE_API_DEFAULT_AUX_POOL": cluster.default_aux_pool or cluster.compute_pool,
        "RESOLUTE_API_DATABASE_URL": database,
        "RESOLUTE_API_CLUSTER_NAME": cluster.display_name or cluster.name,
        "RESOLUTE_API_CLUSTER_ID": cluster.id,
        "RESOLUTE_API_SECRET": secret,
        "RESOLUTE_API_SEALING_KEYS": str(paths.sealing_keys),
        "RESOLUTE_API_CHECKPOINT_STORAGE": json.dumps(storage),
        "RESOLUTE_API_TASK_CONTAINER_DEFAULTS": json.dumps(_but_network(cluster.task_container_defaults)),
        "RESOLUTE_API_RETENTION_POLICY": json.dumps(cluster.retention_policy),
        **_paths_of_tasks(paths, cluster),
        **cluster.given,
        **({environment_settings.PASSWORD: password} if password else {}),
    }


def agent_environment(paths: ClusterPaths, cluster: Cluster, agent: AgentPart) -> dict[str, str]:
    """The environment of an agent: it has the agent's own seed, and neither the database's URL nor the cluster's
    secret."""
    return {
        "RESOLUTE_AGENT_ID": agent.name,
        "RESOLUTE_AGENT_POOL": agent.pool,
        "RESOLUTE_AGENT_NATS_URL": cluster.nats_url,
        "RESOLUTE_AGENT_NATS_SEED_FILE": str(nats_server.agent_seed_file(paths, agent.name)),
        "RESOLUTE_AGENT_MASTER_URL": cluster.url_of(agent),
        "RESOLUTE_AGENT_CLUSTER_ID": cluster.id,
        "RESOLUTE_AGENT_WORK_DIR": str(paths.agent(agent.name)),
        "RESOLUTE_AGENT_RUNTIME": agent.runtime,
        "RESOLUTE_AGENT_GPU": json.dumps(agent.gpu),
        "RESOLUTE_AGENT_LOG_FORMAT": "json",
        **_paths_of_tasks(paths, cluster),
        **({"RESOLUTE_AGENT_SLOTS": str(agent.slots)} if agent.slots is not None else {}),
        **_port("RESOLUTE_AGENT_HEALTH_PORT", cluster, agent.name),
        **_token_where_others_reach_it(paths, cluster, agent),
        **_trusting(cluster, agent),
        **environment_settings.of_agents(cluster.given),
        **agent.given,
        **(_of_containers(cluster, agent) if agent.runtime == "docker" else {}),
    }


def _paths_of_tasks(paths: ClusterPaths, cluster: Cluster) -> dict[str, str]:
    """What tasks must not see, and what they write to. The services pass it on to the agents they start."""
    hidden = dict.fromkeys((str(paths.root), str(paths.socket_dir)))
    stored = (cluster.checkpoint_storage or {}).get("host_path")
    visible = dict.fromkeys(path for path in (cluster.storage, stored) if path)
    return {
        "RESOLUTE_AGENT_HIDDEN_PATHS": json.dumps(list(hidden)),
        "RESOLUTE_AGENT_VISIBLE_PATHS": json.dumps(list(visible)),
    }


def _trusting(cluster: Cluster, agent: AgentPart) -> dict[str, str]:
    """What tasks need to trust the gateway: its certificate, where no authority has signed it; and a name to check,
    where the certificate is not for the address that the tasks use."""
    if cluster.tls_cert is None or not cluster.tls_cert.is_file():
        return {}
    host = urlsplit(cluster.url_of(agent)).hostname or ""
    names = certificates.names_in(cluster.tls_cert)
    return {
        **(
            {environment_settings.MASTER_CERT: str(cluster.tls_cert)}
            if certificates.is_self_signed(cluster.tls_cert)
            else {}
        ),
        **({environment_settings.MASTER_CERT_NAME: names[0]} if names and host not in names else {}),
    }


def _without_task_defaults(pool: Any) -> Any:
    """A pool without its `task_container_defaults`: the scheduler completes no configuration and needs no password of a
    registry."""
    return pool if isinstance(pool, str) else {k: v for k, v in pool.items() if k != "task_container_defaults"}


def _without_network(pool: Any) -> Any:
    """A pool without the network of its tasks, which only agents need to know."""
    defaults = None if isinstance(pool, str) else pool.get("task_container_defaults")
    return pool if defaults is None else {**pool, "task_container_defaults": _but_network(defaults)}


def _but_network(defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in defaults.items() if name != "network_mode"}


def _network_of(cluster: Cluster, agent: AgentPart) -> str:
    """The Docker network of the agent's tasks, as its pool says, or else the cluster: its own, where both say nothing.
    All agents are on one host, and their tasks meet on that network."""
    pools = (pool for pool in cluster.pools if not isinstance(pool, str) and pool["pool_name"] == agent.pool)
    of_pool = [pool.get("task_container_defaults") or {} for pool in pools]
    said = (defaults.get("network_mode") for defaults in (*of_pool, cluster.task_container_defaults))
    chosen = next(filter(None, said), "bridge")
    return containers.network_of(cluster.id) if chosen == "bridge" else str(chosen)


def _of_containers(cluster: Cluster, agent: AgentPart) -> dict[str, str]:
    """Tasks may mount what the cluster's own configuration mounts, and nothing else."""
    administrators = cluster.task_container_defaults.get("bind_mounts") or ()
    allowed = [cluster.storage, *(mount["host_path"] for mount in administrators)]
    if cluster.checkpoint_storage and "host_path" in cluster.checkpoint_storage:
        allowed.append(cluster.checkpoint_storage["host_path"])
    return {
        "RESOLUTE_AGENT_DOCKER_NETWORK": _network_of(cluster, agent),
        environment_settings.MOUNTS: json.dumps(
            [*allowed, *json.loads(cluster.given.get(environment_settings.MOUNTS, "[]"))]
        ),
        "RESOLUTE_AGENT_HOST": cluster.given.get("RESOLUTE_AGENT_HOST", cluster.task_host),
    }


def _services(paths: ClusterPaths, cluster: Cluster, env: dict[str, str]) -> list[Child]:
    return [
        _python(paths, name, module, {**env, **_port("RESOLUTE_HEALTH_PORT", cluster, name)})
        for name, module in _modules(cluster).items()
    ]


def _modules(cluster: Cluster) -> dict[str, str]:
    """What each process of services runs, by its name, in the order of starting."""
    if not cluster.separate:
        return {"services": "resolute.deploy.embedded"}
    return {
        name: f"resolute.{service}"
        for service in SERVICES
        for name in names_of(service, cluster.replicas.get(service, 1))
    }


def process_names(cluster: Cluster) -> list[str]:
    """The processes of services and agents, in the order of starting."""
    return [*_modules(cluster), *(agent.name for agent in cluster.agents)]


def _port(variable: str, cluster: Cluster, name: str) -> dict[str, str]:
    port = cluster.metrics_ports.get(name)
    return {} if port is None else {variable: str(port)}


def _token_where_others_reach_it(paths: ClusterPaths, cluster: Cluster, agent: AgentPart) -> dict[str, str]:
    """An agent that serves its metrics on loopback needs no secret for it."""
    host = {**cluster.given, **agent.given}.get(environment_settings.AGENT_HEALTH_HOST, "127.0.0.1")
    return {} if is_loopback(host) else {"RESOLUTE_AGENT_METRICS_TOKEN_FILE": str(paths.metrics_token)}


def names_of(service: str, count: int) -> list[str]:
    """What the processes of a service are called."""
    return [service] if count == 1 else [f"{service}-{number}" for number in range(1, count + 1)]


def _agent(paths: ClusterPaths, cluster: Cluster, agent: AgentPart, env: dict[str, str]) -> Child:
    child = _python(paths, agent.name, "resolute.agent", {**env, **agent_environment(paths, cluster, agent)})
    return replace(child, restart=agent.restart)


def _python(paths: ClusterPaths, name: str, module: str, env: dict[str, str]) -> Child:
    return Child(
        name=name, argv=(sys.executable, "-m", module), env=env, cwd="/", log=str(paths.logs / f"{name}.log")
    )  # fmt: skip

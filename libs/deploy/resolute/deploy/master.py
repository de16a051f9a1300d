"""Reads a master configuration (master.yaml) for an embedded cluster: fields of `Cluster`, and settings of services."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from resolute.config.authz import Authz
from resolute.config.master import Database, MasterConfig, parse_master
from resolute.config.pools import TaskContainerDefaults
from resolute.config.token_lifespans import TokenLifespans
from resolute.config.webhooks import WebhookSettings
from resolute.deploy import environment_settings
from resolute.proto.errors import Refused

FOR_CONTAINERS = (
    "image", "registry_auth", "force_pull_image", "add_capabilities", "drop_capabilities", "devices", "bind_mounts",
    "shm_size_bytes",
)  # fmt: skip
"""Keys of `task_container_defaults` that mean something to containers alone."""
ANY_RUNTIME = ("bridge", "host")
"""Networks that a task may ask for whatever it runs as: a process is on the host's."""


def read(path: Path | None) -> MasterConfig:
    """Raises Refused for a file that cannot be read, and InvalidConfig, naming the keys, for what it says."""
    if path is None:
        return MasterConfig()
    import yaml

    try:
        found = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except OSError as error:
        raise Refused(f"cannot read the master configuration {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise Refused(f"cannot read the master configuration {path}: {error}") from error
    if not isinstance(found or {}, dict):
        raise Refused(f"cannot read the master configuration {path}: expected keys with values, as `port: 8080`")
    return parse_master(found or {})


def of_cluster(config: MasterConfig) -> dict[str, Any]:
    """The part of the configuration that is stored with the cluster, by the names of the fields of `Cluster`."""
    manager = config.resource_manager
    return {
        "display_name": config.cluster_name,
        "database": database_url(config.db),
        # Each with its scheduler, so that the scheduler and the gateway cannot take it for two different ones.
        "pools": tuple(
            pool.model_copy(
                update={"pool_name": pool.pool_name, "scheduler": config.scheduler_of(pool.pool_name)}
            ).model_dump(mode="json", exclude_unset=True)
            for pool in config.resource_pools
        ),
        "default_pool": manager.default_compute_resource_pool,
        "default_aux_pool": manager.default_aux_resource_pool,
        "checkpoint_storage": config.checkpoint_storage,
        "task_container_defaults": config.task_container_defaults.model_dump(exclude_unset=True),
        "retention_policy": config.retention_policy.model_dump(),
    }


def variables(config: MasterConfig) -> dict[str, str]:
    """The part of the configuration that becomes settings of services, as variables (see `environment_settings`)."""
    security = config.security
    tls, task, authz, token = security.tls, security.default_task, security.authz, security.token
    found = {
        environment_settings.LOG_LEVEL: config.log.level if "level" in config.log.model_fields_set else None,
        environment_settings.LAUNCH_ERROR: None if config.launch_error else json.dumps(False),
        environment_settings.TLS_CERT: str(tls.cert.absolute()) if tls.cert else None,
        environment_settings.TLS_KEY: str(tls.key.absolute()) if tls.key else None,
        environment_settings.WEBHOOKS: None if config.webhooks == WebhookSettings() else _webhooks(config.webhooks),
        environment_settings.TOKEN: None if token == TokenLifespans() else token.model_dump_json(),
        environment_settings.AUTHZ: None if authz == Authz() else authz.model_dump_json(),
        environment_settings.DEFAULT_TASK: None if task is None else task.model_dump_json(),
    }
    return {name: value for name, value in found.items() if value is not None}


def _webhooks(webhooks: WebhookSettings) -> str:
    key = webhooks.signing_key.get_secret_value()
    return json.dumps({**webhooks.model_dump(mode="json"), "signing_key": key})


def database_url(db: Database) -> str:
    """The URL, with the password, of a PostgreSQL that runs already; empty where the cluster runs one itself."""
    if not db.host:
        return ""
    login = ":".join(quote(part, safe="") for part in (db.user, db.password.get_secret_value()))
    socket = {"host": db.host, "port": str(db.port)} if db.host.startswith("/") else {}
    certificate = {"sslrootcert": db.ssl_root_cert} if db.ssl_root_cert else {}
    options = urlencode({**socket, "sslmode": db.ssl_mode, **certificate}, safe="/")
    host = f"[{db.host}]" if ":" in db.host else db.host
    return f"postgresql://{login}@{'' if socket else f'{host}:{db.port}'}/{quote(db.name, safe='')}?{options}"


def check_runtime(config: MasterConfig, runtime: str) -> None:
    """Raises Refused, with a line for each key that could have no effect on tasks of this runtime."""
    if runtime == "docker":
        return
    if without := list(_for_containers_alone(config)):
        raise Refused(
            "\n".join(
                f"{path}: has no effect on tasks that run as processes. Remove it, or start with --runtime docker."
                for path in without
            )
        )


def _for_containers_alone(config: MasterConfig) -> Iterator[str]:
    sections = {"": config.task_container_defaults} | {
        f"resource_pools[{number}].": pool.task_container_defaults
        for number, pool in enumerate(config.resource_pools)
        if pool.task_container_defaults is not None
    }
    plain = TaskContainerDefaults()
    for prefix, section in sections.items():
        said = [name for name in FOR_CONTAINERS if getattr(section, name) != getattr(plain, name)]
        said += ["network_mode"] if section.network_mode not in ANY_RUNTIME else []
        yield from (f"{prefix}task_container_defaults.{name}" for name in said)

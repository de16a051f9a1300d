"""Settings that the person who starts an embedded cluster gives as `RESOLUTE_*` variables.

Every setting of a service or an agent can be given. A name that is no setting is refused, and so is a setting that the
command decides itself. The settings are stored with the cluster, so that a later `agent-up` uses the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from resolute.agent import runtimes
from resolute.agent.inherited_variables import inheritable
from resolute.api.settings import ApiSettings
from resolute.directory.settings import DirectorySettings
from resolute.proto.errors import InvalidConfig, Refused
from resolute.scheduler.provisioner.settings import LocalSettings
from resolute.scheduler.settings import SchedulerSettings
from resolute.service.settings import Settings

PREFIX = "RESOLUTE_"
AGENT = "RESOLUTE_AGENT_"
MODELS: tuple[tuple[str, type[BaseSettings]], ...] = (
    ("RESOLUTE_API_", ApiSettings),
    (AGENT, runtimes.Settings),
    ("RESOLUTE_DIRECTORY_", DirectorySettings),
    ("RESOLUTE_SCHEDULER_", SchedulerSettings),
    ("RESOLUTE_PROVIDER_", LocalSettings),
    (PREFIX, Settings),
)
"""The models of settings by the prefix of their variables, the longest prefix first."""

HOST, PASSWORD = "RESOLUTE_API_HOST", "RESOLUTE_API_INITIAL_USER_PASSWORD"
SEPARATE, TLS_CERT = "RESOLUTE_SEPARATE_SERVICES", "RESOLUTE_API_TLS_CERT"
HEALTH_HOST, AGENT_HEALTH_HOST = "RESOLUTE_HEALTH_HOST", "RESOLUTE_AGENT_HEALTH_HOST"
TLS_KEY, LOG_LEVEL = "RESOLUTE_API_TLS_KEY", "RESOLUTE_LOG_LEVEL"
WEBHOOKS = "RESOLUTE_DIRECTORY_WEBHOOKS"
LAUNCH_ERROR, DEFAULT_TASK = "RESOLUTE_API_LAUNCH_ERROR", "RESOLUTE_API_DEFAULT_TASK"
AUTHZ = "RESOLUTE_API_AUTHZ"
TOKEN = "RESOLUTE_API_TOKEN"
MASTER_CERT, MASTER_CERT_NAME = "RESOLUTE_AGENT_MASTER_CERT_FILE", "RESOLUTE_AGENT_MASTER_CERT_NAME"
MOUNTS = "RESOLUTE_AGENT_DOCKER_BIND_MOUNTS"
READ_BY_THE_COMMAND = (HOST, PASSWORD, SEPARATE)
OF_TESTS = ("RESOLUTE_REQUIRE", "RESOLUTE_INTEROP_")
OF_CONTAINERS = (
    "RESOLUTE_COMPOSE_", "RESOLUTE_LISTEN", "RESOLUTE_CLUSTER", "RESOLUTE_POOLS", "RESOLUTE_VERSION", "RESOLUTE_MTU"
)  # fmt: skip

_ITS_OWN = "an embedded cluster makes its own; unset it"
_BY_MASTER_CONFIGURATION = "say it in the master configuration (--master-config-path)"
_ITS_OWN_NAMES = """
    DATABASE_URL NATS_URL NATS_SEED NATS_SEED_FILE NATS_CA_FILE CLUSTER_ID CLUSTER_SECRET METRICS_TOKEN_FILE API AGENT
    API_DATABASE_URL API_CLUSTER_ID API_SECRET API_TASK_HOST API_REUSE_PORT
    API_METRICS_TOKEN_FILE API_METRICS_TARGETS_FILE AGENT_METRICS_TOKEN_FILE
    AGENT_ID AGENT_NATS_URL AGENT_NATS_SEED_FILE AGENT_NATS_CA_FILE AGENT_MASTER_URL AGENT_CLUSTER_ID AGENT_WORK_DIR
    AGENT_HIDDEN_PATHS AGENT_VISIBLE_PATHS AGENT_DOCKER_NETWORK
    PROVIDER_WORK_DIR PROVIDER_LOG_DIR PROVIDER_SEED_DIR PROVIDER_NATS_URL PROVIDER_MASTER_URL PROVIDER_CLUSTER_ID
"""
_MASTER_CONFIGURATIONS_NAMES = """
    API_POOLS API_DEFAULT_POOL API_DEFAULT_AUX_POOL API_SCHEDULER API_CHECKPOINT_STORAGE API_TASK_CONTAINER_DEFAULTS
    API_RETENTION_POLICY
    SCHEDULER_POOLS SCHEDULER_SCHEDULER
"""
DECIDED = {
    **{f"{PREFIX}{name}": _ITS_OWN for name in _ITS_OWN_NAMES.split()},
    **{f"{PREFIX}{name}": _BY_MASTER_CONFIGURATION for name in _MASTER_CONFIGURATIONS_NAMES.split()},
    "RESOLUTE_CLUSTER_NAME": "--cluster-name says it",
    "RESOLUTE_API_CLUSTER_NAME": "--cluster-name says it",
    "RESOLUTE_CONFIG": "an embedded cluster reads no such file; give the settings as variables",
    "RESOLUTE_API_PORT": "--master-port says it",
    "RESOLUTE_API_TASK_RUNTIME": "--runtime says it",
    "RESOLUTE_API_SEALING_KEYS": "the cluster keeps them in its data directory",
    "RESOLUTE_HEALTH_PORT": "each process has a port of its own; --metrics-port chooses the first of them",
    "RESOLUTE_AGENT_HEALTH_PORT": "each process has a port of its own; --metrics-port chooses the first of them",
    "RESOLUTE_AGENT_SLOTS": "--slots says it",
    "RESOLUTE_AGENT_GPU": "--gpu and --no-gpu say it",
    "RESOLUTE_AGENT_RUNTIME": "--runtime says it",
    "RESOLUTE_AGENT_POOL": "`det deploy local agent-up --agent-resource-pool` says it",
}
"""Settings that the command decides, each with what to do instead."""


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for services and agents. Raises Refused, naming the variable, for one that would have no effect,
    and InvalidConfig for one whose value cannot be used."""
    found: dict[str, str] = {}
    for name, value in environ.items():
        name = name.upper()
        if name.startswith(PREFIX) and not name.startswith(OF_TESTS) and name not in READ_BY_THE_COMMAND:
            _check(name, value)
            found[name] = value
    return found


def of_agents(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if name.startswith(AGENT)}


def passed_on(environ: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The variables that the cluster's processes inherit from the environment of the command: those that tasks may
    inherit, and those for Docker and for a collector of traces. A person's other variables, which may be secrets, are
    not inherited."""
    further = {
        name: value
        for name, value in environ.items()
        if name.startswith(("OTEL_", "DOCKER_")) or name == "XDG_RUNTIME_DIR"
    }
    return {**inheritable(environ, _named(given)), **further}


def _named(given: Mapping[str, str]) -> tuple[str, ...]:
    said = given.get(f"{AGENT}TASK_VARIABLES")
    return TypeAdapter(tuple[str, ...]).validate_json(said) if said else ()


def _check(name: str, value: str) -> None:
    if name.startswith(OF_CONTAINERS) and name not in _known():
        raise Refused(f"cannot use {name} here: it belongs to a cluster in containers (compose/); unset it")
    if name in DECIDED:
        raise Refused(f"cannot use {name} here: {DECIDED[name]}")
    prefix, model = next((prefix, model) for prefix, model in MODELS if name.startswith(prefix))
    field = name.removeprefix(prefix).lower().partition("__")[0]
    if field not in model.model_fields:
        near = difflib.get_close_matches(name, _known(), n=1)
        raise Refused(f"cannot use {name}: there is no such setting{f'; did you mean {near[0]}?' if near else ''}")
    _check_value(model, field, name, value)


def _check_value(model: type[BaseSettings], field: str, name: str, value: str) -> None:
    try:
        read = _Given(model, {name: value})()[field]
        described = model.model_fields[field]
        TypeAdapter[Any](described.rebuild_annotation(), config=_config_for(described.annotation)).validate_python(read)
    except SettingsError as error:
        raise InvalidConfig(f"{name}: expected JSON; found {value[:100]!r}") from error
    except ValidationError as error:
        raise InvalidConfig(f"{name}: {error.errors(include_url=False, include_input=False)[0]['msg']}") from error


def _config_for(annotation: Any) -> Any:
    """A pydantic model has a configuration of its own; pydantic refuses another one for it."""
    return None if isinstance(annotation, type) and issubclass(annotation, BaseModel) else {"extra": "forbid"}


def _known() -> Iterable[str]:
    return [f"{prefix}{field.upper()}" for prefix, model in MODELS for field in model.model_fields]


class _Given(EnvSettingsSource):
    """Variables from a mapping rather than from this process."""

    def __init__(self, model: type[BaseSettings], variables: Mapping[str, str]) -> None:
        self._variables = {name.lower(): value for name, value in variables.items()}
        super().__init__(model)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._variables

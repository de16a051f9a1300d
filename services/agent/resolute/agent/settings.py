"""How an agent is set: who it is, which slots it has, where the cluster is; `RESOLUTE_AGENT_*`."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from resolute.proto.errors import InvalidConfig

PREFIX = "RESOLUTE_AGENT_"
S = TypeVar("S", bound="AgentSettings")


class AgentSettings(BaseSettings):
    """What every agent has, whatever its runtime."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    id: str = Field(default_factory=socket.gethostname, min_length=1)
    pool: str = Field(default="default", min_length=1)
    slots: int | None = Field(default=None, ge=0)
    """So many slots, the host's cores shared among them; left out: its GPUs, else one slot with every core."""
    artificial: bool = False
    """Whether those slots only pretend: several may share what there is, for tests."""
    gpu: bool = True
    """Whether to look for GPUs."""
    work_dir: Path = Path("resolute-agent")
    runtime: str = ""
    """What runs tasks, by its name in the registry of runtimes (`runtimes.py`); left empty: the first one there. Each
    runtime has settings of its own besides: `process_settings.py`, `docker_settings.py`."""

    nats_url: str = "nats://127.0.0.1:4222"
    nats_seed_file: Path | None = None
    """The file with the agent's own nkey seed; None where NATS asks nobody."""
    nats_ca_file: Path | None = None
    """The certificate of the authority behind NATS's own: with one, the connection is TLS or there is none."""
    master_url: str = "http://127.0.0.1:8080"
    """Where tasks find the gateway."""
    master_cert_file: Path | None = None
    """The certificate of the gateway, or of the authority behind it, where tasks would not trust it of themselves."""
    master_cert_name: str = ""
    """The name that certificate is for, where that is not the address in `master_url`."""
    cluster_id: str = "resolute"
    host: str = ""
    """The address at which the tasks of other agents reach this host; left empty: the one NATS is reached from."""

    hello_s: float = Field(default=5.0, gt=0)
    heartbeat_s: float = Field(default=3.0, gt=0)
    grace_s: float = Field(default=15.0, ge=0)
    """How long a task may take to end when it is asked to; then it is killed."""
    logs_wait_s: float = Field(default=30.0, ge=0)
    """How long the report of an exit waits for the last log lines to be stored."""
    remember_s: float = Field(default=600.0, ge=0)
    """How long a finished task is remembered, so that an order that comes late does not run it again."""
    keep_finished: bool = False
    """Whether the directories of finished tasks stay, for a look inside."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text", "auto"] = "auto"
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """Where `/health`, `/ready` and `/metrics` answer; 0 for any free port, None for nowhere."""
    metrics_token_file: Path | None = None
    """The file with the token of those who read metrics. Without it the agent serves `/metrics` on loopback only."""


def read(kind: type[S], given: Mapping[str, Any]) -> S:
    """What is given wins over the environment. Raises InvalidConfig, naming the setting and its variable."""
    try:
        return kind(**given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in problem["loc"])
        found = f"; found {problem['input']!r}" if "input" in problem else ""
        raise InvalidConfig(f"{name} ({PREFIX}{name.upper()}): {problem['msg']}{found}") from error


def host_towards(nats_url: str) -> str:
    """The address this host is seen with from where NATS is: asked of the routing table, nothing is sent."""
    target = nats_url.rpartition("@")[2].rpartition("//")[2]
    name, _, port = target.partition(":")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((name, int(port or 4222)))
            return str(probe.getsockname()[0])
    except (OSError, ValueError):
        return "127.0.0.1"


def cores() -> int:
    return len(os.sched_getaffinity(0))

"""The settings of an agent: its id, its slots, the addresses of the cluster; `RESOLUTE_AGENT_*`."""

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
    """The settings that do not depend on the runtime."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    id: str = Field(default_factory=socket.gethostname, min_length=1)
    pool: str = Field(default="default", min_length=1)
    slots: int | None = Field(default=None, ge=0)
    """The number of slots, among which the host's cores are shared. None: one for each GPU, or one with every core when
    there is no GPU."""
    artificial: bool = False
    """Whether the slots stand for no devices, so that there may be any number of them. For tests."""
    gpu: bool = True
    """Whether to look for GPUs."""
    work_dir: Path = Path("resolute-agent")
    runtime: str = ""
    """The name of the runtime in the registry (`runtimes.py`); empty: the first one. Each runtime has further settings:
    `process_settings.py`, `docker_settings.py`."""

    nats_url: str = "nats://127.0.0.1:4222"
    nats_seed_file: Path | None = None
    """The file with the agent's own nkey seed; None when NATS requires no sign-in."""
    nats_ca_file: Path | None = None
    """The certificate of the authority that signed the one of NATS. When it is set, only TLS is used."""
    master_url: str = "http://127.0.0.1:8080"
    """The address of the gateway for tasks."""
    master_cert_file: Path | None = None
    """The certificate of the gateway, or of the authority that signed it, when the system does not trust it already."""
    master_cert_name: str = ""
    """The name in that certificate, when it is not the host in `master_url`."""
    cluster_id: str = "resolute"
    host: str = ""
    """The address at which the tasks of other agents reach this host; empty: the one from which this host reaches
    NATS."""

    hello_s: float = Field(default=5.0, gt=0)
    heartbeat_s: float = Field(default=3.0, gt=0)
    grace_s: float = Field(default=15.0, ge=0)
    """How long a task may take to end after SIGTERM; then it is killed."""
    logs_wait_s: float = Field(default=30.0, ge=0)
    """How long the report of an exit waits for the last log lines to be stored."""
    remember_s: float = Field(default=600.0, ge=0)
    """How long a finished task stays in the ledger, so that an order that comes late does not start it again."""
    keep_finished: bool = False
    """Whether the directories and containers of finished tasks are kept, so that people can look into them."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text", "auto"] = "auto"
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """The port of `/health`, `/ready` and `/metrics`; 0 for any free port, None for no such pages."""
    metrics_token_file: Path | None = None
    """The file with the metrics token. Without it the agent serves `/metrics` on loopback only."""


def read(kind: type[S], given: Mapping[str, Any]) -> S:
    """`given` overrides the environment. Raises InvalidConfig, naming the setting and its variable."""
    try:
        return kind(**given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in problem["loc"])
        found = f"; found {problem['input']!r}" if "input" in problem else ""
        raise InvalidConfig(f"{name} ({PREFIX}{name.upper()}): {problem['msg']}{found}") from error


def host_towards(nats_url: str) -> str:
    """The address of this host on the way to NATS, by the routing table. Nothing is sent: connecting a UDP socket only
    chooses a route."""
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

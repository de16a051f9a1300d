"""What a person may ask of a local cluster: the arguments of `det deploy local …`, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Runtime = Literal["process", "docker"]

SERVICES = ("relay", "directory", "searcher", "tasks", "scheduler", "checkpoint", "api")
"""What a cluster consists of, agents apart, in the order of starting."""


@dataclass(frozen=True, slots=True)
class ClusterUp:
    """`cluster-up` (with agents) and `master-up` (with none).

    `slots` is the number of slots each agent offers, None to count what the host has; `data_dir` is where
    the cluster remembers, None for the default place; `gpu` False hides the host's GPUs, and True refuses to start
    where there are none.
    `wait` False returns as soon as the processes run, without waiting for the gateway to be ready.
    """

    cluster_name: str = "determined"
    master_port: int | None = None
    """None: the port of the master configuration, or 8080 where it has none."""
    agents: int = 1
    slots: int | None = None
    gpu: bool | None = None
    runtime: Runtime = "process"
    data_dir: Path | None = None
    storage_host_path: Path | None = None
    master_config_path: Path | None = None
    initial_user_password: str | None = None
    auto_work_dir: Path | None = None
    delete_db: bool = False
    autorestart: bool = True
    replicas: Mapping[str, int] = field(default_factory=dict)
    """The number of processes of a service; with any number given, each service is a process of its own."""
    wait: bool = True
    metrics_port: int | None = None
    """The first of the ports at which the processes serve their metrics; None: those they had, or free ones."""


@dataclass(frozen=True, slots=True)
class ClusterDown:
    """`cluster-down` and `master-down`; `delete_db` also forgets everything the cluster remembers."""

    cluster_name: str = "determined"
    data_dir: Path | None = None
    delete_db: bool = False


@dataclass(frozen=True, slots=True)
class AgentUp:
    """`agent-up MASTER_HOST`: one more agent on this host, joined to a running cluster."""

    master_host: str
    master_port: int | None = None
    """None: that of the cluster."""
    cluster_name: str = "determined"
    agent_name: str = "det-agent-vm"
    resource_pool: str | None = None
    agent_config_path: Path | None = None
    slots: int | None = None
    gpu: bool | None = None
    runtime: Runtime = "process"
    data_dir: Path | None = None
    autorestart: bool = True


@dataclass(frozen=True, slots=True)
class AgentDown:
    """`agent-down`: one agent by name, or all of the cluster's agents on this host."""

    cluster_name: str = "determined"
    agent_name: str = "det-agent-vm"
    all: bool = False
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """`status`: what a cluster is, what of it runs, and where it serves its metrics."""

    cluster_name: str = "determined"
    data_dir: Path | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Logs:
    """`logs`: what the cluster's services wrote; `follow` keeps printing until interrupted."""

    cluster_name: str = "determined"
    follow: bool = True
    data_dir: Path | None = None

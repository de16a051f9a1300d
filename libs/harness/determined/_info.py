"""The facts about a task: identity, address of the master, slots, trial. Read from the environment, else from files."""

from __future__ import annotations

import functools
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from determined import constants

Env = Mapping[str, str]


class RendezvousInfo:
    """Addresses and slot counts of every container of the allocation, in rank order, and which one this is."""

    def __init__(self, container_addrs: list[str], container_rank: int, container_slot_counts: list[int]) -> None:
        self.container_addrs = container_addrs
        self.container_rank = container_rank
        self.container_slot_counts = container_slot_counts


class TrialInfo:
    """The trial that a TRIAL task runs: ids, seed, hyperparameters and the merged configuration."""

    def __init__(
        self,
        trial_id: int,
        experiment_id: int,
        trial_seed: int,
        hparams: dict[str, Any],
        config: dict[str, Any],
        steps_completed: int,
        trial_run_id: int,
        debug: bool,
        inter_node_network_interface: str | None,
    ) -> None:
        self.trial_id = trial_id
        self.experiment_id = experiment_id
        self.trial_seed = trial_seed
        self.hparams = hparams
        self._config = config
        self._steps_completed = steps_completed
        self._trial_run_id = trial_run_id
        self._debug = debug
        self._inter_node_network_interface = inter_node_network_interface


class ResourcesInfo:
    """The devices of this container."""

    def __init__(self, gpu_uuids: list[str]) -> None:
        self._gpu_uuids = gpu_uuids

    @property
    def gpu_uuids(self) -> list[str]:
        return self._gpu_uuids


class ClusterInfo:
    """Identity of the task: master, allocation, session token, addresses of its containers, trial."""

    def __init__(
        self,
        master_url: str,
        cluster_id: str,
        agent_id: str,
        slot_ids: list[int],
        task_id: str,
        allocation_id: str,
        session_token: str,
        task_type: str,
        master_cert_name: str | None = None,
        master_cert_file: str | None = None,
        latest_checkpoint: str | None = None,
        trial_info: TrialInfo | None = None,
        rendezvous_info: RendezvousInfo | None = None,
        resources_info: ResourcesInfo | None = None,
    ) -> None:
        self.master_url = master_url
        self.cluster_id = cluster_id
        self.agent_id = agent_id
        self.slot_ids = slot_ids
        self.task_id = task_id
        self.allocation_id = allocation_id
        self.session_token = session_token
        self.task_type = task_type
        self.master_cert_name = master_cert_name
        self.master_cert_file = master_cert_file
        self._latest_checkpoint = latest_checkpoint
        self._trial_info = trial_info
        self._rendezvous_info = rendezvous_info
        self._resources_info = resources_info

    def __repr__(self) -> str:
        """Without the token: this may end up in a log."""
        return f"ClusterInfo(task_id={self.task_id!r}, allocation_id={self.allocation_id!r})"

    @property
    def latest_checkpoint(self) -> str | None:
        """The checkpoint to resume from, None on a fresh start."""
        return self._latest_checkpoint

    @property
    def user_data(self) -> dict[str, Any]:
        """The configuration's free `data` section."""
        return dict(self.trial._config.get("data") or {})

    @property
    def trial(self) -> TrialInfo:
        if self._trial_info is None:
            raise RuntimeError(f"a {self.task_type} task has no trial; ClusterInfo.trial is for TRIAL tasks")
        return self._trial_info

    @property
    def _rendezvous(self) -> RendezvousInfo:
        return self._rendezvous_info or RendezvousInfo(["127.0.0.1"], 0, [len(self.slot_ids)])

    @property
    def container_addrs(self) -> list[str]:
        return self._rendezvous.container_addrs

    @property
    def container_slot_counts(self) -> list[int]:
        return self._rendezvous.container_slot_counts

    @property
    def container_rank(self) -> int:
        return self._rendezvous.container_rank

    @property
    def gpu_uuids(self) -> list[str]:
        return self._resources_info.gpu_uuids if self._resources_info else []


@functools.cache
def get_cluster_info() -> ClusterInfo | None:
    """The facts about this task, or None off the cluster. Read once, then kept."""
    return read_cluster_info(os.environ)


def read_cluster_info(env: Env) -> ClusterInfo | None:
    """Reads the DET_* variables, or the info files under DET_RUN_DIR when they are not set."""
    folder = pathlib.Path(env.get("DET_RUN_DIR", constants.DEFAULT_RUN_DIR)) / "info"
    cluster = cluster_from_env(env) or _read(folder / "cluster.json")
    if cluster is None:
        return None
    trial = trial_from_env(env) or _read(folder / "trial.json")
    rendezvous = _read(folder / "rendezvous.json")
    resources = _read(folder / "resources.json")
    return ClusterInfo(
        **cluster,
        trial_info=TrialInfo(**trial) if trial else None,
        rendezvous_info=RendezvousInfo(**rendezvous) if rendezvous else None,
        resources_info=ResourcesInfo(**resources) if resources else None,
    )


def cluster_from_env(env: Env) -> dict[str, Any] | None:
    """The fields of `cluster.json` as the environment has them, None when this is no cluster task."""
    if "DET_MASTER" not in env or "DET_SESSION_TOKEN" not in env:
        return None
    return {
        "master_url": env["DET_MASTER"],
        "cluster_id": _required(env, "DET_CLUSTER_ID"),
        "agent_id": _required(env, "DET_AGENT_ID"),
        "slot_ids": _json(env, "DET_SLOT_IDS"),
        "task_id": _required(env, "DET_TASK_ID"),
        "allocation_id": _required(env, "DET_ALLOCATION_ID"),
        "session_token": env["DET_SESSION_TOKEN"],
        "task_type": _required(env, "DET_TASK_TYPE"),
        "master_cert_name": env.get("DET_MASTER_CERT_NAME") or None,
        "master_cert_file": env.get("DET_MASTER_CERT_FILE") or None,
        "latest_checkpoint": env.get("DET_LATEST_CHECKPOINT") or None,
    }


def trial_from_env(env: Env) -> dict[str, Any] | None:
    """The fields of `trial.json` as the environment has them, None when this is no trial."""
    if "DET_TRIAL_ID" not in env:
        return None
    config = _json(env, "DET_EXPERIMENT_CONFIG")
    return {
        "trial_id": int(env["DET_TRIAL_ID"]),
        "experiment_id": int(_required(env, "DET_EXPERIMENT_ID")),
        "trial_seed": int(_required(env, "DET_TRIAL_SEED")),
        "hparams": _json(env, "DET_HPARAMS"),
        "config": config,
        "steps_completed": int(env.get("DET_STEPS_COMPLETED") or 0),
        "trial_run_id": int(env.get("DET_TRIAL_RUN_ID") or 0),
        "debug": bool(config.get("debug", False)),
        "inter_node_network_interface": env.get("DET_INTER_NODE_NETWORK_INTERFACE") or None,
    }


def task_config_from_env(env: Env) -> dict[str, Any]:
    """The configuration of a task that is no trial; empty where the cluster says none."""
    known = "DET_TASK_CONFIG" in env or "DET_TASK_CONFIG_FILE" in env
    config: dict[str, Any] = _json(env, "DET_TASK_CONFIG") if known else {}
    return config


def _required(env: Env, name: str) -> str:
    if name not in env:
        raise RuntimeError(f"the environment of a cluster task needs {name}, which is not set")
    return env[name]


def _value(env: Env, name: str) -> str:
    """The variable, or the text of the file that `<name>_FILE` names, for a value that is too large for a variable."""
    file = env.get(f"{name}_FILE")
    return pathlib.Path(file).read_text() if file and name not in env else _required(env, name)


def _json(env: Env, name: str) -> Any:
    text = _value(env, name)
    try:
        return json.loads(text)
    except ValueError as problem:
        raise RuntimeError(f"{name} should hold JSON: {problem}") from problem


def _read(path: pathlib.Path) -> dict[str, Any] | None:
    try:
        fields: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return fields

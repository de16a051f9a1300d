"""The environment variables of a task: its identity, the address of the gateway, and its devices."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from resolute.agent.settings import AgentSettings, cores
from resolute.agent.slots import device_kind
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import Slot, StartTask
from resolute.proto.tasks import TaskSpec

BOOTSTRAP = ("-m", "determined.exec.prep")
"""The arguments of the interpreter with which every task starts."""
VARIABLE_BYTES_MAX = 65_536
"""The longest value of a variable that the cluster sets. Linux allows 128 KiB for one, and 2 MiB for all variables and
arguments together."""
_LARGE = ("DET_EXPERIMENT_CONFIG", "DET_HPARAMS", "DET_TASK_CONFIG")

TRIAL_SSH_PORT, INTER_TRAIN_PORT_1, INTER_TRAIN_PORT_2, C10D_PORT = 12350, 12360, 12376, 29400


@dataclass(frozen=True, slots=True)
class Site:
    """The values that are the same for every task of this agent."""

    agent_id: str
    cluster_id: str
    master_url: str
    slots: tuple[Slot, ...]
    cores: int
    inherited: Mapping[str, str]
    """The variables of the host that tasks inherit: see `resolute.agent.inherited_variables`."""
    harness: str
    """The directory that `determined` is imported from."""
    programs: str = ""
    """The directory of the interpreter that tasks run with. It comes first in PATH, so that `python3` is the same
    interpreter."""
    default_path: str = os.defpath
    """The PATH of a task that neither the host nor the configuration sets; empty when the task's image sets it."""
    master_cert: str = ""
    """The file with the certificate with which tasks verify the gateway; empty when they need none."""
    master_cert_name: str = ""
    """The name in that certificate, when it is not the gateway's address."""
    trusted: str = ""
    """The text of that certificate, for tasks that cannot read the agent's file."""


def site_of(
    settings: AgentSettings,
    slots: tuple[Slot, ...],
    inherited: Mapping[str, str],
    harness: str,
    programs: str = "",
    default_path: str = os.defpath,
    master_cert: str = "",
) -> Site:
    """The site of an agent with these settings. The other arguments depend on the runtime. Raises InvalidConfig."""
    return Site(
        agent_id=settings.id,
        cluster_id=settings.cluster_id,
        master_url=settings.master_url,
        slots=slots,
        cores=cores(),
        inherited=inherited,
        harness=harness,
        programs=programs,
        default_path=default_path,
        master_cert=master_cert,
        master_cert_name=settings.master_cert_name,
        trusted=_text(settings.master_cert_file) if settings.master_cert_file is not None else "",
    )


def _text(cert: Path) -> str:
    try:
        return cert.read_text()
    except (OSError, ValueError) as error:
        raise InvalidConfig(
            f"master_cert_file (RESOLUTE_AGENT_MASTER_CERT_FILE): cannot read {cert}: {error}"
        ) from error


def harness_directory() -> str:
    found = find_spec("determined")
    assert found is not None, "the harness, libs/harness, is not installed"
    assert found.submodule_search_locations, "the harness is a package"
    return str(Path(next(iter(found.submodule_search_locations))).parent)


def environment(order: StartTask, site: Site, folder: str) -> dict[str, str]:
    """All variables of the task. Those of the configuration override those of the host, and those of the cluster
    override both."""
    slots = [slot for slot in site.slots if slot.id in order.placement.slot_ids]
    chosen = _chosen(order.spec, device_kind(slots))
    return {
        **site.inherited,
        **_devices(slots, site),
        **chosen,
        **_paths(chosen, site, folder),
        **_master(site.master_url, site.master_cert, site.master_cert_name),
        **_identity(order, site),
        **(_trial(order.spec) if order.spec.trial_id is not None else _other_task(order.spec)),
        **_ports(order),
        **({"TRACEPARENT": order.traceparent} if order.traceparent else {}),
    }


def by_file(variables: Mapping[str, str], folder: str) -> tuple[dict[str, str], dict[str, str]]:
    """Moves values that are too large for a variable to files in `folder`. Returns the variables, and the texts of the
    files by name.

    Linux allows 128 KiB in one variable. A larger configuration is in the file that `DET_EXPERIMENT_CONFIG_FILE` names,
    and larger hyperparameters in that of `DET_HPARAMS_FILE`; the harness reads both forms.
    """
    large = {name: f"{name}.json" for name in _LARGE if len(variables.get(name, "").encode()) > VARIABLE_BYTES_MAX}
    kept = {name: value for name, value in variables.items() if name not in large}
    named = {f"{name}_FILE": f"{folder}/{file}" for name, file in large.items()}
    return {**kept, **named}, {file: variables[name] for name, file in large.items()}


def _chosen(spec: TaskSpec, kind: str) -> Mapping[str, str]:
    """The variables of the configuration for this kind of device. `spec.environment` has those for CPU; others are read
    from the configuration."""
    stated = ((spec.config or {}).get("environment") or {}).get("environment_variables")
    if kind == "cpu" or not isinstance(stated, Mapping):
        return spec.environment
    return {name: value for name, _, value in (line.partition("=") for line in stated.get(kind) or ())}


def _devices(slots: Sequence[Slot], site: Site) -> dict[str, str]:
    """The variables that show a task its GPUs by UUID, or hide all GPUs. Slots of CPU share the cores evenly."""
    gpus = [slot.uuid for slot in slots if slot.kind in ("cuda", "rocm")]
    if gpus:
        # ROCm reads CUDA_VISIBLE_DEVICES as well, and would find no device of its own there.
        name = "CUDA_VISIBLE_DEVICES" if device_kind(slots) == "cuda" else "ROCR_VISIBLE_DEVICES"
        return {name: ",".join(gpus)}
    threads = max(1, site.cores * max(1, len(slots)) // max(1, len(site.slots)))
    return {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": str(threads)}


def _paths(chosen: Mapping[str, str], site: Site, folder: str) -> dict[str, str]:
    behind = chosen.get("PYTHONPATH", site.inherited.get("PYTHONPATH", ""))
    inherited = site.inherited.get("PATH", site.default_path)
    path = chosen.get("PATH") or os.pathsep.join(filter(None, [site.programs, inherited]))
    return {
        **({"PATH": path} if path else {}),
        "DET_RUN_DIR": folder,
        "DET_WORKDIR": f"{folder}/workdir",
        "PYTHONPATH": os.pathsep.join(filter(None, [site.harness, behind])),
        "PYTHONUNBUFFERED": "1",
    }


def _master(url: str, cert: str, cert_name: str) -> dict[str, str]:
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    return {
        "DET_MASTER": url.rstrip("/"),
        "DET_MASTER_HOST": parts.hostname or "",
        "DET_MASTER_ADDR": parts.hostname or "",
        "DET_MASTER_PORT": str(parts.port or (443 if tls else 80)),
        "DET_USE_TLS": "true" if tls else "false",
        **({"DET_MASTER_CERT_FILE": cert} if cert else {}),
        **({"DET_MASTER_CERT_NAME": cert_name} if cert_name else {}),
    }


def _identity(order: StartTask, site: Site) -> dict[str, str]:
    spec, placement = order.spec, order.placement
    trial = {} if spec.trial_id is None else {"trial_id": spec.trial_id}
    return {
        "DET_CLUSTER_ID": site.cluster_id,
        "DET_AGENT_ID": site.agent_id,
        "DET_CONTAINER_ID": placement.resources_id,
        "DET_RESOURCES_ID": placement.resources_id,
        "DET_RESOURCES_TYPE": "docker-container",
        "DET_SLOT_IDS": json.dumps(list(placement.slot_ids)),
        "DET_ALLOCATION_ID": spec.allocation_id,
        "DET_TASK_ID": spec.task_id,
        "DET_TASK_TYPE": spec.task_type,
        "DET_SESSION_TOKEN": order.token,
        "DET_USER": spec.owner,
        "DET_SEGMENT_ENABLED": "false",
        "DET_TASK_LOGGING_METADATA": json.dumps(
            {"task_id": spec.task_id, "allocation_id": spec.allocation_id, **trial}
        ),
    }


def _public(config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The configuration without the login to the registry, which only the agent needs."""
    environment = config.get("environment") if config else None
    if not isinstance(environment, Mapping) or "registry_auth" not in environment:
        return config
    return {**(config or {}), "environment": {k: v for k, v in environment.items() if k != "registry_auth"}}


def _trial(spec: TaskSpec) -> dict[str, str]:
    """The variables of a trial. JSON objects have sorted keys, as on the wire; the database keeps another order."""
    interface = (spec.config.get("environment") or {}).get("dtrain_network_interface") if spec.config else None
    return {
        "DET_EXPERIMENT_ID": str(spec.experiment_id),
        "DET_TRIAL_ID": str(spec.trial_id),
        "DET_TRIAL_RUN_ID": str(spec.run_id),
        "DET_TRIAL_SEED": str(spec.seed),
        "DET_EXPERIMENT_CONFIG": json.dumps(_public(spec.config), sort_keys=True),
        "DET_HPARAMS": json.dumps(spec.hparams, sort_keys=True),
        "DET_STEPS_COMPLETED": str(spec.steps_completed),
        **({"DET_LATEST_CHECKPOINT": spec.checkpoint} if spec.checkpoint else {}),
        **({"DET_INTER_NODE_NETWORK_INTERFACE": interface} if interface else {}),
    }


def _other_task(spec: TaskSpec) -> dict[str, str]:
    """What a task that is no trial finds of its configuration: the harness reads the entrypoint and the hook."""
    return {"DET_TASK_CONFIG": json.dumps(_public(spec.config), sort_keys=True)}


def _ports(order: StartTask) -> dict[str, str]:
    """The ports of a task. Tasks on one host share its ports, so each adds the number of its lowest slot, which no
    other task has."""
    offset = min(order.placement.slot_ids, default=0)
    service = order.spec.service
    return {
        **({service.variable: str(service.first)} if service is not None else {}),
        "DTRAIN_SSH_PORT": str(TRIAL_SSH_PORT + offset),
        "INTER_TRAIN_PROCESS_COMM_PORT_1": str(INTER_TRAIN_PORT_1 + offset),
        "INTER_TRAIN_PROCESS_COMM_PORT_2": str(INTER_TRAIN_PORT_2 + offset),
        "C10D_PORT": str(C10D_PORT + offset),
    }

"""Keys of Determined's master.yaml that this release does not act on: why, and what to do instead.

Such a key is refused by its name when a cluster starts, unless its value asks for what the cluster does anyway. A key
of a section (`saml`) stands for everything in the section that has no entry of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .problems import Problems, join


@dataclass(frozen=True, slots=True)
class Unsupported:
    """`harmless`: the values that ask for what the cluster does without the key."""

    why: str
    harmless: tuple[Any, ...] = ()


def _each(prefix: str, names: str, why: str) -> Iterator[tuple[str, Unsupported]]:
    for name in names.split():
        yield f"{prefix}{name}", Unsupported(why)


_KUBERNETES = "is for Kubernetes, which this release does not support. Remove it."
_SLURM = "is for Slurm and PBS, which this release does not support. Remove it."
_CLOUD = "is for instances of a cloud, which this release does not start. Remove it."
_POD_SPEC = "is for pods of Kubernetes, which this release does not support. Remove it."
_SIGN_IN = "is not supported: users sign in with a name and a password. Remove it."
_SSH = "is not supported: tasks have no SSH keys. Remove it."
_SHIPPED = "is not supported: task logs are kept in the cluster's own database. Remove it."
_USAGE = "is not supported: nothing is sent to anybody. Remove it."
_TRACES = (
    "is not supported: traces leave as OTLP over HTTP, to the address in RESOLUTE_OTLP_ENDPOINT "
    "(http://host:4318/v1/traces). Remove it, and set that variable."
)
_METRICS = (
    "cannot be switched off: metrics are served on loopback addresses, and elsewhere only to those who show the "
    "metrics token. Write true, or remove it."
)
_ONE_MANAGER = "is not supported: a cluster has one resource manager. Remove it."
_PORTS = "is not supported. Set the variable of your library with task_container_defaults.environment_variables."
_FILES = "is not supported: each service brings its own files. Remove it."
_INTERACTIVE = "is not supported: there are no notebooks, TensorBoards or shells yet. Remove it."

UNSUPPORTED: Mapping[str, Unsupported] = {
    "config_file": Unsupported("cannot be said in the file itself. Remove it, and give --master-config-path."),
    "log.color": Unsupported("is not supported: services log JSON lines, without colour. Remove it.", (False,)),
    "root": Unsupported(_FILES),
    "enable_cors": Unsupported(
        "is not supported: the gateway answers its own pages only. Write false, or remove it.", (False,)
    ),
    "feature_switches": Unsupported("is not supported: this release has no optional features. Remove it.", ([],)),
    "reserved_ports": Unsupported(
        "is not supported: the ports of a task follow from its slots and are fixed. Remove it.", ([],)
    ),
    "tensorboard_timeout": Unsupported(_INTERACTIVE),
    "notebook_timeout": Unsupported(_INTERACTIVE),
    "cache": Unsupported("is not supported: model definitions are kept in the database. Remove it."),
    "db.migrations": Unsupported(_FILES),
    "db.views_and_triggers": Unsupported(_FILES),
    "security.ssh": Unsupported(_SSH),
    "security.authz.fallback": Unsupported("is not needed: each type has all rules. Remove it.", ("basic",)),
    "security.authz._strict_ntsc_enabled": Unsupported("has no effect, in Determined neither. Remove it.", (False,)),
    **dict(_each("task_container_defaults.", "cpu_pod_spec gpu_pod_spec checkpoint_gc_pod_spec", _POD_SPEC)),
    "task_container_defaults.kubernetes": Unsupported(_KUBERNETES),
    **dict(_each("task_container_defaults.", "nccl_port_range gloo_port_range", _PORTS)),
    **dict(_each("task_container_defaults.", "slurm pbs", _SLURM)),
    "task_container_defaults.work_dir": Unsupported(_INTERACTIVE),
    "resource_manager.cluster_name": Unsupported(_ONE_MANAGER, ("default", "")),
    "resource_manager.name": Unsupported(_ONE_MANAGER, ("default", "")),
    "resource_manager.metadata": Unsupported(_ONE_MANAGER, ({},)),
    "resource_manager.no_default_resource_pools": Unsupported(
        "is not supported: what names no pool goes to a default one. Write false, or remove it.", (False,)
    ),
    "resource_manager.require_authentication": Unsupported(
        "is not needed: every agent shows a key of its own to the bus. Write true, or remove it.", (True,)
    ),
    "resource_manager.client_ca": Unsupported(
        "is not supported: agents are known by keys and not by certificates. Remove it."
    ),
    **dict(
        _each(
            "resource_manager.",
            """default_namespace namespace max_slots_per_pod slot_resource_requests master_service_name
            leave_kubernetes_resources default_scheduler fluent kubeconfig_path determined_master_scheme
            determined_master_host determined_master_port internal_task_gateway slot_type""",
            _KUBERNETES,
        )
    ),
    **dict(
        _each(
            "resource_manager.",
            """master_host master_port host port protocol security auth_file container_run_type
            rendezvous_network_interface proxy_network_interface user_name group_name sudo_authorized
            singularity_image_root apptainer_image_root job_storage_root path ld_library_path launcher_jvm_args
            tres_supported gres_supported job_project_source partition_overrides""",
            _SLURM,
        )
    ),
    "additional_resource_managers": Unsupported(_ONE_MANAGER, ([],)),
    "resource_pools[].agent_reattach_enabled": Unsupported(
        "is not needed: agents always find their tasks again. Write true, or remove it.", (True,)
    ),
    "resource_pools[].kubernetes_namespace": Unsupported(_KUBERNETES),
    **dict(
        _each(
            "resource_pools[].provider.",
            """master_url master_cert_name startup_script container_startup_script agent_docker_network
            agent_docker_runtime agent_docker_image agent_fluent_image agent_reconnect_attempts
            agent_reconnect_backoff agent_config_file_contents region root_volume_size image_id tag_key tag_value
            custom_tags instance_name ssh_key_name iam_instance_profile_arn network_interface instance_type
            log_group log_stream spot spot_max_price cpu_slots_allowed base_config project zone boot_disk_size
            boot_disk_source_image boot_disk_type labels label_key label_value name_prefix network_tags
            service_account operation_timeout_period use_cloud_logging""",
            _CLOUD,
        )
    ),
    "resource_pools[].provider.partition": Unsupported(_SLURM),
    "logging": Unsupported(_SHIPPED),
    "logging.type": Unsupported(_SHIPPED, ("default",)),
    "telemetry": Unsupported(_USAGE),
    "telemetry.enabled": Unsupported(_USAGE, (False,)),
    "telemetry.otel_enabled": Unsupported(_TRACES, (False,)),
    "telemetry.otel_endpoint": Unsupported(_TRACES),
    "observability": Unsupported(_METRICS),
    "observability.enable_prometheus": Unsupported(_METRICS, (True,)),
    "integrations": Unsupported("is not supported: there is no integration with Pachyderm. Remove it."),
    "ui_customization": Unsupported("is not supported: there is no web page yet. Remove it."),
    "scim": Unsupported(_SIGN_IN),
    "scim.enabled": Unsupported(_SIGN_IN, (False,)),
    "saml": Unsupported(_SIGN_IN),
    "saml.enabled": Unsupported(_SIGN_IN, (False,)),
    "oidc": Unsupported(_SIGN_IN),
    "oidc.enabled": Unsupported(_SIGN_IN, (False,)),
    "det_cloud": Unsupported(_SIGN_IN),
    "det_cloud.enabled": Unsupported(_SIGN_IN, (False,)),
    "__internal": Unsupported("is not supported. Remove it."),
    "__internal.audit_logging_enabled": Unsupported(
        "is not supported: the event log has who asked for each change. Write false, or remove it.", (False,)
    ),
    # Not of release 0.38: where people of older releases had them, or look for them.
    **dict(
        _each(
            "",
            "max_idle_agent_period max_agent_starting_period provisioner",
            "belongs to a pool: write it in resource_pools[].provider.",
        )
    ),
    "scheduler": Unsupported("belongs to resource_manager.scheduler, or to a pool's own scheduler."),
}

RENAMED: Mapping[str, str] = {
    "resource_manager.default_cpu_resource_pool": "default_aux_resource_pool",
    "resource_manager.default_gpu_resource_pool": "default_compute_resource_pool",
    "resource_pools[].max_cpu_containers_per_agent": "max_aux_containers_per_agent",
}
"""Former names, which still work, and today's."""

_POOL_DEFAULTS = "resource_pools[].task_container_defaults"


def entry_for(path: str) -> Unsupported | None:
    """The entry of the key itself. `path` has `[]` for any item of a list."""
    if path.startswith(_POOL_DEFAULTS):
        path = path.removeprefix("resource_pools[].")  # the same section, said once
    return UNSUPPORTED.get(path)


def without_unsupported(value: Any, problems: Problems, path: str = "") -> Any:
    """`value`, the part of a master configuration at `path`, under today's names and without what changes nothing:
    keys that say nothing, and unsupported ones with harmless values. Others of them are reported by name."""
    if isinstance(value, Mapping):
        return _section(value, problems, path)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_unsupported(item, problems, f"{path}[{number}]") for number, item in enumerate(value)]
    return value


def _section(section: Mapping[Any, Any], problems: Problems, path: str) -> dict[Any, Any]:
    kept: dict[Any, Any] = {}
    for key, value in section.items():
        where = join(path, str(key))
        known = _general(where)
        entry, renamed = entry_for(known), RENAMED.get(known)
        if value is None:
            continue
        if entry is not None:
            _check(entry, value, where, problems)
        elif renamed is not None and section.get(renamed) is not None:
            problems.add(where, f"is the former name of {renamed}, which is there too. Remove it.")
        else:
            kept[renamed or key] = without_unsupported(value, problems, where)
    return kept


def _check(entry: Unsupported, value: Any, where: str, problems: Problems) -> None:
    if value in entry.harmless:
        return
    if isinstance(value, Mapping):
        below = without_unsupported(value, problems, where)
        if not below:
            return  # all of it was harmless, or has been reported
    problems.add(where, entry.why)


def _general(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)

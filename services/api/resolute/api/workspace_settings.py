"""What a workspace says of the experiments in it, as requests give it: default pools, storage, whom tasks run as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.api.settings import ApiSettings
from resolute.config.storage_fields import read_storage
from resolute.proto.errors import InvalidConfig

POOLS: Mapping[str, str] = {
    "defaultComputePool": "default_compute_pool",
    "defaultComputeResourcePool": "default_compute_pool",
    "defaultAuxPool": "default_aux_pool",
    "defaultAuxResourcePool": "default_aux_pool",
}
"""The fields of requests that name a pool, also by their names in older clients, and the settings."""

OF_KUBERNETES = ("clusterNamespaceMeta", "clusterQuotaPairs")


def settings_in(body: Mapping[str, Any], cluster: ApiSettings) -> dict[str, Any]:
    """The settings that a request gives, by their names in the log. What is absent or null is left as it is; an empty
    object or an empty name takes the setting away. Raises InvalidConfig, naming the field."""
    found: dict[str, Any] = {}
    if (group := body.get("agentUserGroup")) is not None:
        found["agent_user_group"] = _agent_user_group(group)
    if (storage := body.get("checkpointStorageConfig")) is not None:
        found["checkpoint_storage"] = read_storage(storage, "checkpointStorageConfig") if storage else {}
    for name, column in POOLS.items():
        if (pool := body.get(name)) is not None:
            found[column] = _pool(name, pool, cluster)
    for name in OF_KUBERNETES:
        if body.get(name):
            raise InvalidConfig(f"{name}: is for Kubernetes, which this release does not support; leave it out")
    return found


def _agent_user_group(group: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty. Whether the rest will do is checked by the directory, which decides about workspaces."""
    return {name: value for name, value in group.items() if value not in (None, "")}


def _pool(field: str, name: str, cluster: ApiSettings) -> str:
    if name and name not in cluster.pool_names:
        raise InvalidConfig(
            f"{field}: unable to bind a resource pool that does not exist or is not available to the workspace: "
            f"{name!r}; there are {', '.join(cluster.pool_names)}"
        )
    return name

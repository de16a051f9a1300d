"""How tasks run in containers on this host, and what their configurations may ask of it; `RESOLUTE_AGENT_DOCKER_*`.

The address of the Docker daemon is set as for Docker's own client: DOCKER_HOST, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ByteSize, Field

from resolute.agent.settings import AgentSettings


def _no_zero(value: object) -> object:
    return None if value == "" else value


class DockerSettings(AgentSettings):
    docker_network: str = ""
    """The name of a network, `host`, or `container:NAME` for the network of another container. Empty: a network of the
    cluster's own, and the host's network for tasks that span agents."""
    docker_bind_mounts: tuple[str, ...] = ()
    """The host's paths that tasks may mount, with all that is below them; a JSON list. `/checkpoints=NAME` stands for
    the Docker volume NAME. By default no path is allowed."""
    docker_devices: tuple[str, ...] = ()
    """The host's devices that tasks may use (`resources.devices`), each with all that is below it; a JSON list."""
    docker_capabilities: tuple[str, ...] = ("IPC_LOCK", "SYS_NICE", "SYS_PTRACE")
    """The Linux capabilities that tasks may add; a JSON list."""
    docker_new_privileges: bool = False
    """Whether programs in a container may gain privileges by set-user-id files: `sudo`, for one."""
    docker_user: str = Field(default="", pattern=r"^(\d+:\d+)?$")
    """uid:gid of tasks whose owner has no agent user; empty: the image's user, usually root."""
    docker_memory_per_slot: Annotated[ByteSize | None, BeforeValidator(_no_zero)] = None
    """The memory that a container may use for each of its slots, as `8GiB`. A container without slots counts as one
    slot."""
    docker_cpus_per_slot: Annotated[float | None, Field(gt=0), BeforeValidator(_no_zero)] = None
    """The cores a container may use for each of its slots."""
    docker_processes: Annotated[int | None, Field(gt=0), BeforeValidator(_no_zero)] = None
    """The most processes and threads a container may have."""
    docker_publish: str = ""
    """The host's address at which the ports of `environment.ports` and `proxy_ports` are open to other hosts; empty:
    they are not."""
    docker_logins: Path | None = None
    """A Docker config.json with logins to registries, for configurations without one; None: the file of the user that
    the agent runs as."""

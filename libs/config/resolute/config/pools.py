"""Resource pools as an operator describes them: who comes first in a pool, how work is placed, what may be started.

Names are those of Determined's master.yaml. The scheduler, the gateway, deployments and what-if all read this type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from resolute.proto.queue import PRIORITY_DEFAULT, PRIORITY_FIRST, PRIORITY_LAST, PolicyName

from .durations import seconds

POSIX_ID_MAX = 2**32 - 2
"""The largest number of a user or group; the one after it means "leave it as it is" to the system calls."""


def _seconds(value: Any) -> Any:
    return seconds(value) if isinstance(value, str) else value


DurationS = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scheduler(Section):
    type: PolicyName = PolicyName.PRIORITY
    preemption: bool = False
    """priority: whether work of higher priority may ask for the slots of lower ones."""
    default_priority: int = Field(default=PRIORITY_DEFAULT, ge=PRIORITY_FIRST, le=PRIORITY_LAST)
    fitting_policy: Literal["best", "worst"] = "best"
    """best packs work tightly, worst spreads it."""
    allow_heterogeneous_fits: bool = False
    """Whether what is larger than one agent may take whole agents of unlike sizes."""
    fair_share_groups: Literal["experiment", "user"] = "experiment"
    """fair_share: between whom the slots are shared."""


class DefaultTask(Section):
    """Whom the tasks of users run as that are linked with no user of the host."""

    user: str = Field(default="root", min_length=1)
    uid: int = Field(default=0, ge=0, le=POSIX_ID_MAX)
    group: str = Field(default="root", min_length=1)
    gid: int = Field(default=0, ge=0, le=POSIX_ID_MAX)


class TaskContainerDefaults(Section):
    shm_size_bytes: int = Field(default=4 * 2**30, gt=0)
    image: str | dict[str, str] | None = None
    registry_auth: dict[str, str] | None = None
    force_pull_image: bool = False
    environment_variables: list[str] | dict[str, list[str]] | None = None
    add_capabilities: list[str] = []
    drop_capabilities: list[str] = []
    devices: list[Any] = []
    bind_mounts: list[dict[str, Any]] = []
    network_mode: str = Field(default="bridge", min_length=1)
    """bridge: a network of the cluster's own. Or the name of a Docker network, `host`, or `container:NAME`."""
    dtrain_network_interface: str = ""
    """Where the containers of one trial talk to each other, on every host; several with commas. Empty: found out."""
    startup_hook: str = ""
    """Shell text that every task runs before its own startup-hook.sh."""
    log_policies: list[dict[str, Any]] = []
    preemption_timeout: int = Field(default=3600, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_release(cls, value: Any) -> Any:
        """Descriptions of clusters that earlier releases kept have a key `work_dir`, which says nothing."""
        if isinstance(value, Mapping) and value.get("work_dir", value) is None:
            return {name: inner for name, inner in value.items() if name != "work_dir"}
        return value


class Provider(Section):
    """What a pool may start when work waits, and stop when it is idle."""

    type: Literal["local"] = "local"
    """local: agents as processes on the scheduler's own host."""
    min_instances: int = Field(default=0, ge=0)
    max_instances: int = Field(default=5, gt=0)
    instance_slots: int = Field(default=1, ge=0)
    """Slots of one instance."""
    artificial_slots: bool = False
    """local: whether slots only pretend, so that a small host can play a large pool."""
    max_idle_agent_period: DurationS = Field(default=20 * 60.0, gt=0)
    max_agent_starting_period: DurationS = Field(default=20 * 60.0, gt=0)
    """An instance that has not joined by then is ended, and counts as a failure."""
    launch_error_timeout: DurationS = 0.0
    """How long, at least, starting is suspended after too many failures in a row."""
    launch_error_retries: int = Field(default=0, ge=0)
    """How many failures in a row are not yet too many."""

    @field_validator("type", mode="before")
    @classmethod
    def _is_built(cls, value: Any) -> Any:
        if value in ("aws", "gcp", "hpc"):
            raise ValueError(
                f"{value} is not supported by this release; local starts agents as processes on the scheduler's host, "
                "and agents started by other means may join a pool without a provider"
            )
        return value

    @model_validator(mode="after")
    def _least_is_below_most(self) -> Provider:
        if self.min_instances > self.max_instances:
            raise ValueError(f"min_instances: expected at most max_instances ({self.max_instances})")
        return self


class ResourcePool(Section):
    pool_name: str = Field(default="default", min_length=1)
    description: str = ""
    max_aux_containers_per_agent: int = Field(default=100, ge=0)
    agent_reconnect_wait: DurationS = 25.0
    scheduler: Scheduler | None = None
    """None: as the cluster says."""
    provider: Provider | None = None
    task_container_defaults: TaskContainerDefaults | None = None

    @property
    def elastic_agents(self) -> tuple[str, ...]:
        """The agents of instances that the pool may start. Their ids are known beforehand, so that each can be given
        credentials of its own; an id is used again once its instance is gone."""
        most = self.provider.max_instances if self.provider is not None else 0
        return tuple(f"{self.pool_name}-elastic-{number}" for number in range(1, most + 1))


def read_pools(value: Any) -> Any:
    """Pools from what an environment variable or a caller says: JSON, a list, plain names, or `gpu,cpu`."""
    if isinstance(value, str):
        value = orjson.loads(value) if value.lstrip().startswith(("[", "{", '"')) else value.split(",")
    pools = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple({"pool_name": pool.strip()} if isinstance(pool, str) else pool for pool in pools)


def check_names(pools: Sequence[ResourcePool]) -> None:
    names = [pool.pool_name for pool in pools]
    if len(set(names)) < len(names):
        raise ValueError(f"resource_pools: expected each pool_name once; found {', '.join(names)}")

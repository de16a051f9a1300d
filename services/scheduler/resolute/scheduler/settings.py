"""The settings of the scheduler: which pools there are, how each shares its slots, how long an agent may be silent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from resolute.config.pools import ResourcePool, Scheduler, check_names, read_pools


class SchedulerSettings(BaseSettings):
    """Settings that are not given are read from `RESOLUTE_SCHEDULER_*`."""

    model_config = SettingsConfigDict(env_prefix="RESOLUTE_SCHEDULER_", frozen=True)

    pools: Annotated[tuple[ResourcePool, ...], NoDecode, BeforeValidator(read_pools)] = Field(
        default=(ResourcePool(),), min_length=1
    )
    """As JSON, with the fields of master.yaml. A pool without settings of its own may be given by its name alone."""
    scheduler: Scheduler = Scheduler()
    """For pools that have no `scheduler` of their own."""
    agent_reconnect_wait_s: float = Field(default=25.0, gt=0)
    """For pools that have no `agent_reconnect_wait` of their own: an agent that is silent for longer is lost, with the
    tasks on it."""
    preemption: bool | None = None
    """Overrides `scheduler.preemption`."""
    tick_s: float = Field(default=1.0, gt=0)
    """The pause between two checks of leases and deadlines."""

    @field_validator("pools")
    @classmethod
    def _each_once(cls, pools: tuple[ResourcePool, ...]) -> tuple[ResourcePool, ...]:
        check_names(pools)
        return pools

    @property
    def pool_names(self) -> tuple[str, ...]:
        return tuple(pool.pool_name for pool in self.pools)

    def pool(self, name: str) -> ResourcePool:
        """The settings of a pool, completed with those of the cluster. A pool that these settings do not name has those
        of the cluster only."""
        found = next((pool for pool in self.pools if pool.pool_name == name), ResourcePool(pool_name=name))
        own: dict[str, object] = {}
        if found.scheduler is None:
            own["scheduler"] = self._scheduler()
        if "agent_reconnect_wait" not in found.model_fields_set:
            own["agent_reconnect_wait"] = self.agent_reconnect_wait_s
        return found.model_copy(update=own)

    def _scheduler(self) -> Scheduler:
        if self.preemption is None:
            return self.scheduler
        return self.scheduler.model_copy(update={"preemption": self.preemption})

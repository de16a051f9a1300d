"""How the scheduler is set: which pools there are, how long an agent may be silent, who may preempt whom."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class SchedulerSettings(BaseSettings):
    """From `RESOLUTE_SCHEDULER_*` where not given."""

    model_config = SettingsConfigDict(env_prefix="RESOLUTE_SCHEDULER_", frozen=True)

    pools: tuple[str, ...] = Field(default=("default",), min_length=1)
    agent_reconnect_wait_s: float = Field(default=25.0, gt=0)
    """An agent silent for longer is lost, and so is what runs on it."""
    preemption: bool = False
    """Whether an allocation of higher priority may ask for the slots of lower ones."""
    tick_s: float = Field(default=1.0, gt=0)
    """How often leases and deadlines are looked at."""

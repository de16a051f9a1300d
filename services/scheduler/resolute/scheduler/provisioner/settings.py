"""What the local provider has to know of the cluster to start agents for it: `RESOLUTE_PROVIDER_*`."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class LocalSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="RESOLUTE_PROVIDER_", frozen=True)

    work_dir: Path = Path("resolute-instances")
    """One directory for each instance, and its log beside it. Everybody who looks after the pool has to see it."""
    log_dir: Path | None = None
    """Where logs go instead."""
    seed_dir: Path | None = None
    """Holds `agent-<id>.seed`, the nkey seed of every agent that may be started; None where NATS asks nobody."""
    nats_url: str = "nats://127.0.0.1:4222"
    master_url: str = "http://127.0.0.1:8080"
    cluster_id: str = "resolute"
    python: str = sys.executable

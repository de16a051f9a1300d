"""The settings of the local provider, which starts agents of this cluster: `RESOLUTE_PROVIDER_*`."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class LocalSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="RESOLUTE_PROVIDER_", frozen=True)

    work_dir: Path = Path("resolute-instances")
    """Has one directory for each instance, and its log beside it. All schedulers of the pool must have access to it."""
    log_dir: Path | None = None
    """The directory of the logs, in place of `work_dir`."""
    seed_dir: Path | None = None
    """Has the file `agent-<id>.seed`, with an nkey seed, for every agent; None when NATS requires no sign-in."""
    nats_url: str = "nats://127.0.0.1:4222"
    master_url: str = "http://127.0.0.1:8080"
    cluster_id: str = "resolute"
    python: str = sys.executable

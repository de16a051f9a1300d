"""How the directory is set."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict

from resolute.config.webhooks import WebhookSettings


class DirectorySettings(BaseSettings):
    """From `RESOLUTE_DIRECTORY_*` where not given."""

    model_config = SettingsConfigDict(env_prefix="RESOLUTE_DIRECTORY_", frozen=True)

    webhooks: WebhookSettings = WebhookSettings()
    """As JSON, in the words of master.yaml."""

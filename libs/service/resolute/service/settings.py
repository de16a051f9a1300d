"""The settings of every service: from one YAML file (`RESOLUTE_CONFIG`), and from `RESOLUTE_*` variables, which take
precedence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, YamlConfigSettingsSource

from resolute.proto.errors import InvalidConfig

CONFIG_VARIABLE = "RESOLUTE_CONFIG"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="RESOLUTE_", frozen=True, extra="forbid")

    database_url: str = Field(repr=False)
    """`postgresql://user:password@host/database`, or with `?host=` the folder of a Unix socket."""
    nats_url: str = "nats://127.0.0.1:4222"
    nats_seed: SecretStr | None = None
    """The nkey seed with which this process signs in to NATS; None when NATS requires no sign-in."""
    nats_seed_file: Path | None = None
    """A file with the seed, in place of `nats_seed`."""
    nats_ca_file: Path | None = None
    """The certificate of the authority that signed the one of NATS. When it is set, only TLS is used."""
    cluster_name: str = "resolute"
    cluster_id: str = "resolute"
    cluster_secret: SecretStr = SecretStr("")
    """Signs task tokens; the gateway and the scheduler share it."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text", "auto"] = "auto"
    """`auto`: text on a terminal, JSON elsewhere."""
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """The port of `/health`, `/ready` and `/metrics`; 0 for any free port, None for no such pages."""
    metrics_token_file: Path | None = None
    """The file with the metrics token. Without it a process serves `/metrics` on loopback only."""
    loop_held_max_s: float = Field(30.0, ge=0)
    """A process ends, to be started again, when one piece of work holds its event loop for this long; 0: never."""
    otlp_endpoint: str | None = None
    """Where traces are sent, `http://host:4318/v1/traces`; None: there are no traces, and tracing costs nothing."""

    api: dict[str, Any] = Field(default_factory=dict)
    """Settings of the gateway, which other services ignore: one file may serve all of them."""
    agent: dict[str, Any] = Field(default_factory=dict)
    """Settings of agents, which services ignore."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = os.environ.get(CONFIG_VARIABLE)
        return (init_settings, env_settings, YamlConfigSettingsSource(settings_cls, yaml_file=file))

    def seed(self) -> str | None:
        """The nkey seed, from `nats_seed` or else from `nats_seed_file`."""
        if self.nats_seed is not None:
            return self.nats_seed.get_secret_value()
        return self.nats_seed_file.read_text().strip() if self.nats_seed_file else None


def load() -> Settings:
    """Raises InvalidConfig, naming the setting and how to give it."""
    file = os.environ.get(CONFIG_VARIABLE)
    if file and not Path(file).is_file():
        raise InvalidConfig(f"{CONFIG_VARIABLE} names {file}, which is not a file")
    try:
        return Settings.model_validate({})
    except ValidationError as error:
        raise InvalidConfig(_explain(error)) from error


def _explain(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"{path} is not set: give RESOLUTE_{path.upper()}, or {path} in the file named by {CONFIG_VARIABLE}"
    if problem["type"] == "extra_forbidden":
        return f"{path}: there is no such setting; known are {', '.join(sorted(Settings.model_fields))}"
    return f"{path}: {problem['msg']}"

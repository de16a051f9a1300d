"""The section `webhooks` of the master configuration: how requests to receivers are signed, and where they may go."""

from __future__ import annotations

import ipaddress

from pydantic import Field, SecretStr, field_validator

from .pools import Section


class WebhookSettings(Section):
    base_url: str = Field(default="", max_length=2000)
    """The address of the cluster as people open it: messages to Slack have links to it. Empty: they have none."""
    signing_key: SecretStr = SecretStr("")
    """Signs the requests. Empty: a key that follows from the cluster's secret, which receivers do not know."""
    allowed_networks: tuple[str, ...] = Field(default=(), max_length=100)
    """Networks and addresses inside the cluster, or private ones, that requests may go to besides public addresses:
    `10.1.0.0/16`, `127.0.0.1`. Resolute's own."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError(f"expected an address as https://host; found {value!r}")
        return value.rstrip("/")

    @field_validator("allowed_networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            try:
                ipaddress.ip_network(one, strict=False)
            except ValueError:
                raise ValueError(f"expected networks and addresses as 10.1.0.0/16; found {one!r}") from None
        return value

"""Configurations as people may see them: secrets hidden."""

from __future__ import annotations

from typing import Any

import orjson

from resolute.config import masked

SECRET_WORDS = ("secret", "access_key", "connection_string", "credential", "registry_auth", "pachyderm")


def shown_config(document: str) -> dict[str, Any]:
    """The configuration in `document`, masked. Most hold no secret, and then it is not walked."""
    config: dict[str, Any] = orjson.loads(document)
    return masked(config) if any(word in document for word in SECRET_WORDS) else config

"""Configurations as people may see them: secrets hidden."""

from __future__ import annotations

import re
from typing import Any

import orjson

from resolute.config import masked

SET = re.compile(
    r'"(?:secrets|access_key|secret_key|connection_string|credential|registry_auth|pachyderm)": *(?!null|{})'
)
"""A field that may hold a secret, and is set. Most configurations have none, and then they need no walking."""


def shown_config(document: str) -> dict[str, Any]:
    """The configuration in `document`, masked."""
    config: dict[str, Any] = orjson.loads(document)
    return masked(config) if SET.search(document) else config

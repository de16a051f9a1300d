"""Configurations as people may see them: secrets hidden."""

from __future__ import annotations

import re

import orjson

from resolute.config import masked, masked_yaml

SET = re.compile(
    r'"(?:secrets|access_key|secret_key|connection_string|credential|registry_auth|pachyderm)": *(?!null|{})'
)
"""A field that may hold a secret, and is set. Most configurations have none, and then they need no walking."""


def shown_config(document: str) -> orjson.Fragment:
    """The configuration in `document`, masked, as it goes out: most need no reading on the way."""
    if SET.search(document):
        return orjson.Fragment(orjson.dumps(masked(orjson.loads(document))))
    return orjson.Fragment(document)


def shown_original(text: str, document: str) -> str:
    """The configuration as it was submitted, `document` being what became of it: its secrets hidden as there."""
    return masked_yaml(text) if SET.search(document) else text

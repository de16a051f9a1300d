"""Configurations as people may see them: secrets hidden."""

from __future__ import annotations

import re
from functools import lru_cache

import orjson

from resolute.config import masked, masked_yaml

SET = re.compile(
    r'"(?:secrets|access_key|secret_key|connection_string|credential|registry_auth|pachyderm)": *+(?!null|{})'
)
"""A field that may hold a secret, and is set. Most configurations have none, and then they need no walking.
(`*+` gives no space back: with one given back, ` null` is not `null`, and every field counts as set.)"""

REMEMBERED = 1000
"""Configurations with secrets, as shown: a list shows the same ones again and again."""


def shown_config(document: str) -> orjson.Fragment:
    """The configuration in `document`, masked, as it goes out: most need no reading on the way."""
    return orjson.Fragment(_masked(document) if SET.search(document) else document)


def shown_both(document: str, text: str) -> tuple[orjson.Fragment, str]:
    """The configuration, and `text`, as which it was submitted: one look tells whether either holds secrets."""
    if SET.search(document):
        return orjson.Fragment(_masked(document)), _masked_yaml(text)
    return orjson.Fragment(document), text


@lru_cache(REMEMBERED)
def _masked(document: str) -> bytes:
    return orjson.dumps(masked(orjson.loads(document)))


@lru_cache(REMEMBERED)
def _masked_yaml(text: str) -> str:
    return masked_yaml(text)

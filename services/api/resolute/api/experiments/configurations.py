"""Configurations as everybody may see them: secrets are masked, and fields have the forms that clients know."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from resolute.config import MASK, masked, masked_yaml, slots_of
from resolute.service.sealing import PREFIX, SEALED

Presented: TypeAlias = tuple[orjson.Fragment, str]
"""A configuration, and the text as which it was submitted."""

HAS_VARIABLES = re.compile(r'"environment_variables": *+(?:\[|{[^}]*\[)"')
"""Environment variables that are set."""

SET = re.compile(
    r'"(?:secrets|access_key|secret_key|connection_string|credential|registry_auth|pachyderm)": *+(?!null|{})'
    rf"|{HAS_VARIABLES.pattern}"
)
"""A field that may hold a secret, and is set. Most configurations have none, and then they need no walking.
(`*+` gives no space back: with one given back, ` null` is not `null`, and every field counts as set.)"""

RANGE = re.compile(r'"slots_per_trial": *+{')
"""A number of slots that is not one."""

REMEMBERED = 1000
"""How many configurations that need reading are kept as they go out: a list has the same ones again and again."""


def without_secrets(document: str) -> orjson.Fragment:
    """The configuration in `document`, as it goes out: most need no reading on the way.

    Where one secret of it is sealed, all are: they are masked without reading it."""
    return _without_secrets(document, may_hold_plain=SET.search(document) is not None)


def _without_secrets(document: str, *, may_hold_plain: bool) -> orjson.Fragment:
    if PREFIX in document:
        document, may_hold_plain = SEALED.sub(MASK, document), False
    return orjson.Fragment(_masked(document) if may_hold_plain or RANGE.search(document) else document)


def both_without_secrets(document: str, text: str) -> Presented:
    """The configuration, and `text`, as which it was submitted. The text may be older than sealing, and then plain,
    although the configuration is sealed: its experiment was continued since."""
    is_set = SET.search(document) is not None  # looked for once: it takes longer than all the rest
    shown = _without_secrets(document, may_hold_plain=is_set)
    if PREFIX in text:
        return shown, SEALED.sub(MASK, text)
    return shown, _masked_yaml(text) if is_set else text


@lru_cache(REMEMBERED)
def _masked(document: str) -> bytes:
    return orjson.dumps(for_wire(masked(orjson.loads(document))))


def for_wire(config: dict[str, Any]) -> dict[str, Any]:
    """`slots_per_trial` is a number there, of a range the largest; the text as submitted has the range."""
    resources = config.get("resources") or {}
    return {**config, "resources": {**resources, "slots_per_trial": slots_of(resources).most}} if resources else config


@lru_cache(REMEMBERED)
def _masked_yaml(text: str) -> str:
    return masked_yaml(text)

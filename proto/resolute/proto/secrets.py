"""What became of the keys that protect the secrets of configurations: facts of the gateway, which owns the keys.

The keys themselves never enter the log, which could not forget them. All facts are in one stream, `secrets-cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Event


class SecretsEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.SECRETS.name


@dataclass(frozen=True, slots=True)
class SecretsForgotten(SecretsEvent):
    """Keys were dropped for good: what is sealed under them can never be opened again."""

    whose: str
    """`experiment-7`, or `user-2` for everything that a user owns."""
    data_keys: int
    """How many were dropped."""


@dataclass(frozen=True, slots=True)
class WrappingKeyRotated(SecretsEvent):
    """All data keys are wrapped by another key now, which is in a file outside the database."""

    wrapping_key: str
    """Its name; so are those of `former`."""
    former: tuple[str, ...]
    """They open nothing any more."""
    data_keys: int
    """How many were wrapped anew."""

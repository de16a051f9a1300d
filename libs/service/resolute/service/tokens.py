"""Task tokens: what a task shows the gateway to be let in to its own routes, and to nothing else.

A token says which allocation of which task carries it, under an HMAC of the cluster's secret. Nothing is stored:
whether that allocation still lives is for the gateway to know.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

VERSION = "rt1"
"""Named in the token, so that a later scheme can live beside this one."""


@dataclass(frozen=True, slots=True)
class TaskClaims:
    task_id: str
    allocation_id: str


def mint(secret: bytes, task_id: str, allocation_id: str) -> str:
    claims = f"{VERSION}.{_encode(task_id.encode())}.{_encode(allocation_id.encode())}"
    return f"{claims}.{_encode(_seal(secret, claims))}"


def verify(secret: bytes, token: str) -> TaskClaims | None:
    """What `token` claims, where `secret` made it; None otherwise. Takes the same time whatever is wrong."""
    claims, _, seal = token.rpartition(".")
    parts = claims.split(".")
    try:
        genuine = hmac.compare_digest(_decode(seal), _seal(secret, claims))
        if not genuine or len(parts) != 3 or parts[0] != VERSION:
            return None
        return TaskClaims(_decode(parts[1]).decode(), _decode(parts[2]).decode())
    except (binascii.Error, ValueError):
        return None


def _seal(secret: bytes, claims: str) -> bytes:
    return hmac.digest(secret, claims.encode(), hashlib.sha256)


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

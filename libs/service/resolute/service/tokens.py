"""Task tokens: credentials with which a task uses the gateway's routes for tasks, and no others.

A token names a task and its allocation, and has an HMAC with the cluster's secret. Tokens are not stored. The gateway
checks whether the allocation is still alive.
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
    """The claims of `token` when it was made with `secret`; None otherwise. The seal is compared in constant time."""
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


def of_service(secret: bytes, task_id: str) -> str:
    """What the program that serves people in a task asks them for: it is not stored, and every gateway knows it. It
    opens nothing but that program."""
    return _encode(_seal(secret, f"service of {task_id}"))

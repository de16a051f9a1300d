"""The key pair of a shell (Ed25519, RFC 8709): it follows from the cluster's secret and the shell's id.

Every gateway knows it without asking, and neither the log nor a table holds a private key. Under another secret of the
cluster, shells that run are no longer opened by the keys that are told then: start them anew.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


@dataclass(frozen=True, slots=True)
class KeyPair:
    private: str = field(repr=False)
    """In the format of OpenSSH, as `ssh -i` reads it."""
    public: str
    """A line of `authorized_keys`, without what may stand before the key."""


def of(secret: bytes, task_id: str) -> KeyPair:
    seed = hmac.digest(secret, f"ssh key of {task_id}".encode(), hashlib.sha256)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private.decode(), f"{public.decode()} shell-{task_id}")

"""Sealed values: secrets as the log, the read model and the bus carry them.

A value is sealed under a *data key*, AES-256-GCM, and reads `sealed:v1:<key>:<nonce and ciphertext>`. The key's name
and the name of the place where the value stands are associated data: a sealed value that is moved to another place, or
relabelled with another key, does not open. Data keys are wrapped by the cluster's *wrapping key*, which is in a file
outside the database. Secrets that the gateway has opened for an agent are sent in a *box*: encrypted for a public key
that the agent made for this one answer (X25519, HKDF-SHA256, AES-256-GCM).

`cryptography` is imported where it is used, so that processes that seal nothing do not load it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

PREFIX = "sealed:v1:"
SEALED = re.compile(r"sealed:v1:(?P<key>[A-Za-z0-9_-]{22}):(?P<body>[A-Za-z0-9_-]{38,})")
KEY_BYTES, NONCE_BYTES = 32, 12


class CannotOpen(ValueError):
    """The value was sealed under another key, for another place, or was changed."""


@dataclass(frozen=True, slots=True)
class DataKey:
    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> DataKey:
        return cls(encoded(os.urandom(16)), secrets.token_bytes(KEY_BYTES))


def key_of(value: Any) -> str | None:
    """The name of the data key that `value` is sealed under; None for a value that is not sealed."""
    found = SEALED.fullmatch(value) if isinstance(value, str) else None
    return found["key"] if found else None


def seal(key: DataKey, place: str, value: Any) -> str:
    """`value`, which JSON can represent, sealed for `place`."""
    body = encrypt(key.secret, json.dumps(value).encode(), f"{key.id}\0{place}")
    return f"{PREFIX}{key.id}:{encoded(body)}"


def unseal(key: DataKey, place: str, value: str) -> Any:
    """Raises CannotOpen."""
    found = SEALED.fullmatch(value)
    if found is None or found["key"] != key.id:
        raise CannotOpen(f"{place}: not sealed under key {key.id}")
    return json.loads(decrypt(key.secret, decoded(found["body"]), f"{key.id}\0{place}"))


def encrypt(secret: bytes, data: bytes, about: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(secret).encrypt(nonce, data, about.encode())


def decrypt(secret: bytes, sealed: bytes, about: str) -> bytes:
    """Raises CannotOpen."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(secret).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about.encode())
    except (InvalidTag, ValueError) as error:
        raise CannotOpen(f"{about.partition(chr(0))[2] or about}: it does not open with this key") from error


# ---------------------------------------------------------------- boxes


class Box:
    """A fresh key pair that an agent makes for one answer; only this object can open the box that is made for it."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._private = X25519PrivateKey.generate()
        self.public = encoded(self._private.public_key().public_bytes_raw())

    def opened(self, sender: str, box: str, about: str) -> Any:
        """The value in `box`, which was put there for `about`. Raises CannotOpen."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        shared = self._private.exchange(X25519PublicKey.from_public_bytes(decoded(sender)))
        return json.loads(decrypt(_box_key(shared, self.public, sender), decoded(box), about))


def boxed(receiver: str, value: Any, about: str) -> tuple[str, str]:
    """The sender's public key, and the box. Raises CannotOpen when `receiver` is not a public key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    private = X25519PrivateKey.generate()
    sender = encoded(private.public_key().public_bytes_raw())
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(decoded(receiver)))
    except ValueError as error:
        raise CannotOpen("the receiver's public key is not a valid key") from error
    return sender, encoded(encrypt(_box_key(shared, receiver, sender), json.dumps(value).encode(), about))


def _box_key(shared: bytes, receiver: str, sender: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, None, f"resolute box {receiver} {sender}".encode()).derive(shared)


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

"""Sealed addresses of webhooks. An address often contains a token, and it is stored in events, commands and tables.

The gateway seals an address before it sends the address to the directory. The key is derived from the cluster's secret,
so that the gateways and the directory need not exchange one.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode

from resolute.service import sealing

PLACE = "webhook url"


def seal(secret: bytes, url: str) -> str:
    return sealing.seal(_key(secret), PLACE, url)


def unseal(secret: bytes, sealed: str) -> str:
    """Raises CannotOpen when the cluster's secret has changed since the address was sealed."""
    return str(sealing.unseal(_key(secret), PLACE, sealed))


def _key(secret: bytes) -> sealing.DataKey:
    name = urlsafe_b64encode(_derived(secret, "name")[:16]).rstrip(b"=").decode()
    return sealing.DataKey(name, _derived(secret, "key"))


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac.new(secret, f"resolute webhook urls: {purpose}".encode(), hashlib.sha256).digest()


def signing_key(secret: bytes) -> str:
    """The key that signs requests to webhooks when the master configuration names none: 12 hexadecimal digits."""
    return hmac.new(secret, b"resolute webhook signatures", hashlib.sha256).hexdigest()[:12]

"""Addresses of webhooks, sealed: they often hold a token, and events, commands and tables carry them.

The gateway seals an address before it sends it to the directory. The key follows from the cluster's secret, so that the
gateways and the directory need to exchange none.
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
    """Raises CannotOpen where the cluster has another secret than when the address was sealed."""
    return str(sealing.unseal(_key(secret), PLACE, sealed))


def _key(secret: bytes) -> sealing.DataKey:
    name = urlsafe_b64encode(_derived(secret, "name")[:16]).rstrip(b"=").decode()
    return sealing.DataKey(name, _derived(secret, "key"))


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac.new(secret, f"resolute webhook urls: {purpose}".encode(), hashlib.sha256).digest()


def signing_key(secret: bytes) -> str:
    """What requests to webhooks are signed with where the master configuration says nothing: 12 hexadecimal digits."""
    return hmac.new(secret, b"resolute webhook signatures", hashlib.sha256).hexdigest()[:12]

"""How a password travels: never as typed, but as the salted sha512 that every client of this wire sends."""

from __future__ import annotations

import hashlib

_SALT = "GubPEmmotfiK9TMD6Zdw"


def on_the_wire(password: str) -> str:
    """The hex digest sent with `isHashed: true`; the empty password stays empty."""
    return hashlib.sha512((_SALT + password).encode()).hexdigest() if password else ""

"""Device cookies: what a browser that has signed in shows at its next login, so that it is not counted as a stranger.

A device cookie opens nothing. It names an account and a device, under an HMAC of the cluster's secret, and whoever
carries it has a budget of wrong passwords of its own (see `login_limits`). One that is older than the account's
password no longer counts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta

from resolute.service.credentials import are_equal, as_shown

COOKIE = "resolute_device"
LIFETIME = timedelta(days=365)


def issue(secret: bytes, user_id: int, now: datetime) -> str:
    claims = f"{user_id}.{secrets.token_urlsafe(12)}.{int(now.timestamp())}"
    return f"{claims}.{_seal(secret, claims)}"


def device_of(secret: bytes, cookie: str, user_id: int, password_changed_at: datetime, now: datetime) -> str:
    """The device's name, where `cookie` is of this account and younger than its password; empty otherwise."""
    claims, _, seal = cookie.rpartition(".")
    if not are_equal(seal, _seal(secret, claims)):
        return ""
    user, name, issued = claims.split(".")
    age_s = now.timestamp() - int(issued)
    # Cookies count whole seconds: one of the very second in which the password was set is taken for a later one.
    fresh = age_s <= LIFETIME.total_seconds() and int(issued) >= int(password_changed_at.timestamp())
    return name if fresh and int(user) == user_id else ""


def _seal(secret: bytes, claims: str) -> str:
    return hmac.digest(secret, as_shown(f"device cookie\0{claims}"), hashlib.sha256).hex()
